#!/usr/bin/env python3
"""Runs what stands in action.yml, in a template of GitLab or in the Dockerfile, step by step, without those services.

    stand_in.py action DIRECTORY --workspace W --temp T [--cache C] [NAME=INPUT ...]
    stand_in.py gitlab FILE --project P [NAME=VARIABLE ...]
    stand_in.py image DIRECTORY --stages S [-- ARGUMENT of the entry point ...]

`action` runs the `run:` steps of a composite action with bash as GitHub's runner does, prints what they print, and at the
end `step.NAME=VALUE` for each output of the action; actions/cache keeps its path in C.  `gitlab` runs the script of a job that extends .hbmstress, in
P.  `image` runs the instructions of the Dockerfile in copies of the Debian 12 in S/base, called S/stage-0 and so on, and
then the entry point.  With --root R the first two run in that Debian; paths are then those inside of it.

A form of expression, a keyword or an instruction that is not known here is refused: nothing is passed over.  Exits with
what the failed step exits with, with 0 when none fails, and with 70 on what is refused.
"""
import argparse
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import yaml

SEARCHED = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
PASSED_STEP_KEYS = {'id', 'name', 'shell', 'run', 'env', 'if', 'uses', 'with'}


class Refused(Exception):
    """Something that this stand-in does not know."""


def read_yaml(path):
    """Every scalar as text, as it stands; YAML's own yes and no mean nothing to GitHub in an `on:`."""
    return yaml.load(pathlib.Path(path).read_text(), Loader=yaml.BaseLoader)


class Place:
    """Where commands run: this machine, or a tree in which a Debian is."""

    def __init__(self, root=None, user=None):
        self.root = pathlib.Path(root).resolve() if root else None
        self.user = user

    def path(self, inside):
        return self.root / str(inside).lstrip('/') if self.root else pathlib.Path(inside)

    def run(self, command, environment, directory):
        """The exit code.  In a tree /proc is the one of a new pid namespace, which ends with all of its processes."""
        words = ['env', '-i', '-C', directory] + [f'{name}={text}' for name, text in environment.items()] + command
        if self.root:
            account = [f'--userspec={self.user}'] if self.user else []
            words = ['unshare', '--mount', '--pid', '--fork', '--kill-child', f'--mount-proc={self.root}/proc',
                     'chroot', *account, str(self.root)] + words
        sys.stdout.flush()
        return subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode

    def bash(self, script, environment, directory, file):
        """Runs the text as GitHub's runner does with shell: bash."""
        self.path(file).write_text(script)
        return self.run(['bash', '--noprofile', '--norc', '-eo', 'pipefail', file], environment, directory)


# -- GitHub -----------------------------------------------------------------------------------------------------------

class Action:
    """One use of a composite action in a job."""

    def __init__(self, place, options):
        self.place, self.workspace, self.temp, self.cache = place, options.workspace, options.temp, options.cache
        self.directory = options.source
        self.action = read_yaml(place.path(self.directory) / 'action.yml')
        if self.action['runs']['using'] != 'composite':
            raise Refused('an action that is not composite')
        self.inputs = self.take_inputs(dict(text.split('=', 1) for text in options.words))
        self.outputs, self.searched, self.saved = {}, [], []

    def take_inputs(self, given):
        known = self.action['inputs']
        for name in given:
            if name not in known:
                raise Refused(f'input {name}: the action has none of that name')
        for name, about in known.items():
            if about.get('required') == 'true' and name not in given:
                raise Refused(f'input {name} is required')
        return {name: given.get(name, about.get('default', '')) for name, about in known.items()}

    def expand(self, text):
        return re.sub(r'\$\{\{(.*?)\}\}', lambda found: self.value_of(found[1].strip()), text, flags=re.DOTALL)

    def value_of(self, expression):
        if found := re.fullmatch(r'inputs\.([\w-]+)', expression):
            if found[1] in self.inputs:
                return self.inputs[found[1]]
        elif found := re.fullmatch(r'steps\.([\w-]+)\.outputs\.([\w-]+)', expression):
            return self.outputs.get(found[1], {}).get(found[2], '')
        raise Refused(f'the expression {expression}')

    def environment(self, step, files):
        path = ':'.join(self.searched + [SEARCHED])
        ours = {'PATH': path, 'HOME': '/root', 'LANG': 'C.UTF-8', 'CI': 'true', 'GITHUB_ACTIONS': 'true',
                'GITHUB_ACTION_PATH': self.directory, 'GITHUB_WORKSPACE': self.workspace, 'RUNNER_TEMP': self.temp}
        return ours | files | {name: self.expand(text) for name, text in step.get('env', {}).items()}

    def run_step(self, number, step):
        if set(step) - PASSED_STEP_KEYS:
            raise Refused(f'the keywords {sorted(set(step) - PASSED_STEP_KEYS)}')
        if 'uses' in step:
            return self.use(step)
        if step.get('shell') != 'bash' or '${{' in step['run']:
            raise Refused('a step whose shell is not bash, or an expression in its script')
        files = {name: f'{self.temp}/{name.lower()}_{number}' for name in ('GITHUB_OUTPUT', 'GITHUB_PATH')}
        for file in files.values():
            self.place.path(file).write_text('')
        files['GITHUB_STEP_SUMMARY'] = f'{self.temp}/step_summary'
        status = self.place.bash(step['run'], self.environment(step, files), self.workspace, f'{self.temp}/step.sh')
        if 'id' in step:
            self.outputs[step['id']] = self.read_outputs(self.place.path(files['GITHUB_OUTPUT']).read_text())
        self.searched = self.place.path(files['GITHUB_PATH']).read_text().split() + self.searched
        return status

    @staticmethod
    def read_outputs(text):
        for line in text.splitlines():
            if not re.match(r'[\w-]+=', line):
                raise Refused(f'the output {line}')
        return dict(line.split('=', 1) for line in text.splitlines())

    def use(self, step):
        """A cache is filled when the job has passed, as GitHub does."""
        if not step['uses'].startswith('actions/cache@'):
            raise Refused(f'the action {step["uses"]}')
        path, key = (self.expand(step['with'][name]) for name in ('path', 'key'))
        if not path or not key:
            raise Refused('a cache without a path or a key')
        kept = pathlib.Path(self.cache) / key if self.cache else None
        if kept and kept.exists():
            shutil.copytree(kept, self.place.path(path), symlinks=True)
            print(f'Cache restored from key: {key}')
        elif kept:
            self.saved.append((self.place.path(path), kept))
        return 0

    def run(self):
        failed = 0
        for number, step in enumerate(self.action['runs']['steps']):
            if step.get('if', 'always()') != 'always()':
                raise Refused(f'if: {step["if"]}')
            if failed and 'if' not in step:
                continue
            failed = self.run_step(number, step) or failed
        for path, kept in self.saved if not failed else []:
            shutil.copytree(path, kept, symlinks=True)
        for name, about in self.action.get('outputs', {}).items():
            print(f'step.{name}={self.expand(about["value"])}')
        return failed


# -- GitLab -----------------------------------------------------------------------------------------------------------

def run_gitlab(place, options):
    """One bash for all lines, each of which is printed first; a failed one ends the job."""
    job = read_yaml(place.path(options.source))['.hbmstress']
    if set(job) - {'image', 'variables', 'cache', 'script', 'artifacts'}:
        raise Refused(f'the keywords of .hbmstress: {sorted(job)}')
    variables = job['variables'] | dict(text.split('=', 1) for text in options.words)
    environment = {'PATH': SEARCHED, 'HOME': '/root', 'LANG': 'C.UTF-8', 'CI': 'true', 'GITLAB_CI': 'true',
                   'CI_PROJECT_DIR': options.project}
    for name, text in variables.items():
        if re.search(r'\$(\w|\{|\$)', text):
            raise Refused(f'the variable {name}, which names another')
        environment[name] = text
    script = ''.join(f'echo {shlex.quote("$ " + line)}\n{line}\n' for line in job['script'])
    return place.bash(script, environment, options.project, f'{options.project}/.script.sh')


# -- The image --------------------------------------------------------------------------------------------------------

class Image:
    """The stages of a Dockerfile, each a copy of one Debian."""

    def __init__(self, options):
        self.context, self.stages = pathlib.Path(options.source), pathlib.Path(options.stages)
        self.names, self.count, self.place = {}, 0, None
        self.directory, self.user, self.entry, self.default = '/', None, [], []

    def instructions(self):
        text = (self.context / 'Dockerfile').read_text()
        lines = re.sub(r'\\\n', ' ', re.sub(r'^#.*\n', '', text, flags=re.MULTILINE)).splitlines()
        return [line.split(None, 1) for line in lines if line.strip()]

    def begin(self, words):
        found = re.fullmatch(r'debian:12-slim(?: AS (\w+))?', words)
        if not found:
            raise Refused(f'FROM {words}')
        root = self.stages / f'stage-{self.count}'
        self.count += 1
        subprocess.run(['cp', '-a', self.stages / 'base', root], check=True)
        self.place, self.directory, self.user, self.entry, self.default = Place(root), '/', None, [], []
        self.names[found[1]] = root

    def copy(self, words):
        found = re.fullmatch(r'(?:--from=(\w+) )?(\S+) (/\S+)', words)
        if not found:
            raise Refused(f'COPY {words}')
        source = self.names[found[1]] / found[2].lstrip('/') if found[1] else self.context / found[2]
        shutil.copytree(source, self.place.path(found[3]), symlinks=True, dirs_exist_ok=True,
                        ignore=None if found[1] else self.ignored)

    def ignored(self, directory, names):
        """What .dockerignore leaves out, of the few forms that it has."""
        below = pathlib.Path(directory).relative_to(self.context)
        left_out = set()
        for line in (self.context / '.dockerignore').read_text().splitlines():
            if not line or line.startswith('#'):
                continue
            pattern = pathlib.PurePath(line.lstrip('!'))
            matching = {name for name in names if (below / name).match(str(pattern)) and
                        len((below / name).parts) == len(pattern.parts)}
            left_out = left_out - matching if line.startswith('!') else left_out | matching
        return left_out

    def run_step(self, words):
        mounted = None
        if found := re.match(r'--mount=type=bind,source=(\w+),target=(/\w+) ', words):
            mounted, words = self.place.path(found[2]), words[found.end():]
            shutil.copytree(self.context / found[1], mounted, symlinks=True)
        if words.startswith('--'):
            raise Refused(f'RUN {words}')
        status = self.place.run(['/bin/sh', '-c', words], {'PATH': SEARCHED, 'HOME': '/root'}, self.directory)
        if mounted:
            shutil.rmtree(mounted)
        return status

    def run(self, arguments):
        for name, words in self.instructions():
            print(f'== {name} {words}', flush=True)
            if name == 'RUN':
                if status := self.run_step(words):
                    return status
            elif name == 'FROM':
                self.begin(words)
            elif name == 'COPY':
                self.copy(words)
            elif name == 'USER':
                self.user = words
            elif name == 'WORKDIR':
                self.directory = words
                self.place.path(words).mkdir(parents=True, exist_ok=True)
            elif name == 'ENTRYPOINT':
                self.entry = json.loads(words)
            elif name == 'CMD':
                self.default = json.loads(words)
            else:
                raise Refused(f'{name} {words}')
        print(f'== {self.entry} {arguments or self.default}', flush=True)
        return Place(self.place.root, self.user).run(self.entry + (arguments or self.default),
                                                    {'PATH': SEARCHED, 'HOME': '/work'}, self.directory)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('what', choices=('action', 'gitlab', 'image'))
    parser.add_argument('source')
    for name in ('workspace', 'temp', 'cache', 'project', 'stages', 'root'):
        parser.add_argument(f'--{name}')
    parser.add_argument('words', nargs='*')
    # What follows -- may look like an option.
    cut = sys.argv.index('--') if '--' in sys.argv else len(sys.argv)
    options = parser.parse_intermixed_args(sys.argv[1:cut])
    place = Place(options.root)
    try:
        if options.what == 'action':
            return Action(place, options).run()
        if options.what == 'gitlab':
            return run_gitlab(place, options)
        return Image(options).run(sys.argv[cut + 1:])
    except Refused as fault:
        print(f'stand_in.py: not known here: {fault}', file=sys.stderr)
        return 70


if __name__ == '__main__':
    sys.exit(main())
