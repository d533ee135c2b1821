# The program for users: docker build -t hbmstress . && docker run --rm -v "$PWD:/work" hbmstress run fragmentation_storm
# docs/ci.md has more. ci/prove-ci runs the steps below in a Debian that debootstrap has made.
FROM debian:12-slim AS build
COPY . /source
RUN /source/ci/install /opt/hbmstress

FROM debian:12-slim
RUN --mount=type=bind,source=ci,target=/ci /ci/setup --to-run && rm -rf /var/lib/apt/lists/*
COPY --from=build /opt/hbmstress /usr/local
RUN useradd --create-home hbmstress && install -d -o hbmstress /work
USER hbmstress
WORKDIR /work
ENTRYPOINT ["hbmstress"]
CMD ["--help"]
