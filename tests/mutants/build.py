"""One mutant in a finished build: its file is compiled, the programs of its room are linked again, their tests run."""
import json
import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

MEMORY_BYTES_MAX = 8 << 30
FILE_BYTES_MAX = 4 << 30  # a test makes one of 2 GiB, with nothing in it
SKIPPED_CODE = 77
CLEAN_S_MAX = 300


class Failed(Exception):
    """The machinery, not a test."""


class Test:
    def __init__(self, entry, memory_bytes_max):
        properties = {each['name']: each['value'] for each in entry['properties']}
        self.name = entry['name']
        self.command = entry['command']
        self.folder = properties['WORKING_DIRECTORY']
        self.environment = dict(each.split('=', 1) for each in properties.get('ENVIRONMENT', []))
        self.memory_bytes_max = memory_bytes_max
        self.clean_s = None  # measured before a mutant meets it
        self.lock = threading.Lock()  # of clean_s, where it is measured late
        self.reached = b''  # see reach.py

    @property
    def limit_s(self):
        """A mutant that takes longer hangs; a busy machine is slower than the first run was."""
        return 4 + 3 * self.clean_s


def limit_resources(memory_bytes_max):
    """What a mutant may fill.  Only the soft limits: some tests set theirs."""
    limits = ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_AS, memory_bytes_max), (resource.RLIMIT_FSIZE, FILE_BYTES_MAX))
    for what, most in limits:
        resource.setrlimit(what, (most, resource.getrlimit(what)[1]))


def end_session(session):
    """Ends what a test started: libcheck puts each of its children into a process group of its own."""
    for stat in Path('/proc').glob('[0-9]*/stat'):
        try:
            fields = stat.read_text().rsplit(')', 1)[1].split()
            if int(fields[3]) == session:
                os.kill(int(stat.parent.name), signal.SIGKILL)
        except (OSError, IndexError):
            pass  # it has ended by itself


def wait_for(process, limit_s):
    """'passed', 'failed' (at the first test that libcheck reports so) or 'hung'."""
    deadline = time.monotonic() + limit_s
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
        if not ready:
            return 'hung'
        said = os.read(process.stdout.fileno(), 1 << 16)
        if not said:
            break
        if re.search(rb'^not ok', said, re.M):
            return 'failed'
    try:
        code = process.wait(max(0, deadline - time.monotonic()) + 1)
    except subprocess.TimeoutExpired:
        return 'hung'
    return 'passed' if code in (0, SKIPPED_CODE) else 'failed'


def run_limited(command, test, environment, limit_s, scratch):
    """The test with another command and more environment: 'passed', 'failed' or 'hung'."""
    variables = os.environ | test.environment | environment | {'TMPDIR': str(scratch), 'CK_TAP_LOG_FILE_NAME': '-'}
    process = subprocess.Popen(command, cwd=test.folder, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               preexec_fn=lambda: limit_resources(test.memory_bytes_max))
    try:
        return wait_for(process, limit_s)
    finally:
        end_session(process.pid)
        process.wait()
        process.stdout.close()


def library_of(own):
    """The library that CMake puts an object into."""
    folder, _, rest = own.partition('CMakeFiles/')
    return f'{folder}lib{rest.split(".dir/")[0]}.a'


class Build:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        commands = json.loads((self.folder / 'compile_commands.json').read_text())
        self.compile_of = {}
        for entry in commands:
            self.compile_of.setdefault(entry['file'], shlex.split(entry['command']))
        listed = json.loads(self.output_of('ctest', '--show-only=json-v1'))
        # The address sanitizer asks for more addresses than any machine has memory.
        is_shadowed = any('-fsanitize=address' in word for word in commands[0]['command'].split())
        most = resource.RLIM_INFINITY if is_shadowed else MEMORY_BYTES_MAX
        self.tests = {entry['name']: Test(entry, most) for entry in listed['tests'] if 'command' in entry}
        self.link_of = {}

    def output_of(self, *command):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f'{shlex.join(command)}: {done.stderr.strip()[-300:]}')
        return done.stdout

    def tests_named(self, names):
        missing = [name for name in names if name not in self.tests]
        if missing:
            raise Failed(f'rooms.ini names tests that are not there: {" ".join(missing)}')
        return [self.tests[name] for name in names]

    def name_of(self, word):
        """What ninja calls a program."""
        return os.path.relpath(word, self.folder) if word.startswith('/') else ''

    def learn_programs(self, tests):
        """How the programs that the tests name were linked, for all threads that will ask."""
        built = set(self.output_of('ninja', '-t', 'targets', 'all').split())
        for test in tests:
            for word in test.command:
                name = self.name_of(word)
                if name + ':' in built and name not in self.link_of:
                    last = self.output_of('ninja', '-t', 'commands', name).splitlines()[-1]
                    parts = [shlex.split(part) for part in last.split('&&')]
                    self.link_of[name] = next((part for part in parts if '-o' in part and '-shared' not in part), None)

    def compile(self, source, text, target):
        """Compiles the text as if it stood in the source.  False: it does not compile."""
        words = list(self.compile_of[str(source)])
        at = words.index('-c')
        words[at:at + 2] = ['-w', '-x', 'c', '-c', '-']
        words[words.index('-o') + 1] = str(target)
        done = subprocess.run(words, cwd=self.folder, input=f'#line 1 "{source}"\n{text}', text=True,
                              capture_output=True, check=False)
        return done.returncode == 0

    def object_of(self, source):
        words = self.compile_of[str(source)]
        return words[words.index('-o') + 1]

    def has_object(self, name, own):
        """Whether the program was linked from the object, or from the library that has it."""
        words = self.link_of.get(name) or []
        return own in words or library_of(own) in words

    def link(self, name, changed, always, target):
        """The program with changed objects {its own: path}, each in the place of its own, and the objects `always`."""
        instead = {}
        for own, path in changed.items():
            if own in self.link_of[name]:
                instead[own] = str(path)
            else:
                library = Path(f'{target}.libraries') / library_of(own)
                self.replace_member(own, path, library)
                instead[library_of(own)] = str(library)
        target.parent.mkdir(parents=True, exist_ok=True)
        words = [instead.get(word, word) for word in self.link_of[name]]
        at = words.index('-o')
        words[at:at + 2] = [*map(str, always), '-o', str(target)]
        self.run_tool(words, f'{name} cannot be linked with {", ".join(changed)}')

    def replace_member(self, own, path, library):
        """The library with another object, made from CMake's own by the first caller."""
        if not library.exists():
            library.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / library_of(own), library)
        member = library.parent / Path(own).name
        shutil.copy(path, member)
        self.run_tool(['ar', 'r', str(library), str(member)], f'{library_of(own)} cannot be changed')

    def run_tool(self, words, what):
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f'{what}: {done.stderr.strip()[-300:]}')

    def command_with(self, test, changed, programs, always=()):
        """The test's command with programs that have the changed objects and the objects `always`; it is the test's own
        command when none of its programs has them."""
        command = list(test.command)
        for i, word in enumerate(command):
            name = self.name_of(word)
            of_program = {own: path for own, path in changed.items() if self.has_object(name, own)}
            if of_program:
                command[i] = str(programs / name)
                if not Path(command[i]).exists():
                    self.link(name, of_program, always, Path(command[i]))
        return command

    def run_changed(self, test, source, path, scratch):
        """'passed', 'failed' or 'hung', with another object of the source."""
        command = self.command_with(test, {self.object_of(source): path}, scratch / 'programs')
        return run_limited(command, test, {}, test.limit_s, scratch)

    def compile_noting(self, blocks, tree, folder):
        """{own object: one that notes the blocks that are entered}, and the object that they need."""
        changed = {}
        for i, (file, text) in enumerate(blocks.noting.items()):
            path = folder / f'noting{i}.o'
            if not self.compile(tree / file, text, path):
                raise Failed(f'{file} does not compile with notes of its blocks')
            changed[self.object_of(tree / file)] = path
        runtime = folder / 'noting.o'
        if not self.compile(tree / file, blocks.runtime(), runtime):
            raise Failed('the notes of blocks do not compile')
        return changed, runtime

    def time_clean(self, test, command, environment, folder):
        """How long a test takes without a mutant."""
        begin = time.monotonic()
        result = run_limited(command, test, environment, CLEAN_S_MAX, folder)
        test.clean_s = time.monotonic() - begin
        if result != 'passed':
            raise Failed(f'{test.name} has {result} without a mutant')

    def measure(self, test, blocks, noting, folder):
        """How long a test takes without a mutant, and which blocks it enters.  Programs are linked before."""
        page = folder / f'{test.name}.reached'
        page.write_bytes(bytes(blocks.count))
        changed, runtime = noting
        command = self.command_with(test, changed, folder / 'programs', [runtime])
        self.time_clean(test, command, {'MUTANTS_REACHED': str(page)}, folder)
        test.reached = page.read_bytes()
