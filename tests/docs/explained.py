#!/usr/bin/env python3
"""Writes docs/explained.md: what `hbmstress explain` makes of failures that somebody published.

    tests/docs/explained.py HBMSTRESS FIELD_DATA [--page FILE] [--check]        for example build/dev/cli/hbmstress ../shared

FIELD_DATA is the folder with data/, as -DHBMSTRESS_FIELD_DATA names it.  With --check nothing is written: the page must be what
would be written.  Where a log is absent its section is not compared.  Exits with 0, with 1 when --check finds a difference, with
2 on bad usage or when a log is absent that must be written, and with 77 when a log is absent and the rest of the page holds.
"""
import argparse
import dataclasses
import difflib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

PAGE = pathlib.Path(__file__).resolve().parents[2] / 'docs/explained.md'
@dataclasses.dataclass
class Failure:
    title: str
    origin: str
    note: str
    text: str = ''    # the message itself, or
    file: str = ''    # the log below data/,
    part: str = ''    # of which only the section of this heading


FAILURES = (
    Failure('A buffer that is larger than all free memory', 'JAX, TPU',
            'Certain only if nothing evictable was left, and explain says so.',
            text='RESOURCE_EXHAUSTED: Error allocating device buffer: Attempting to allocate 8.00M. That was not possible. '
                 'There are 6.43M free.; (0x0x1_HBM0)'),
    Failure('A buffer that would fit, in pieces', 'google/trax issue 431, TPU',
            'Whether the refusal was premature depends on what could not move, and the message does not say it.',
            text='RESOURCE_EXHAUSTED: Attempting to allocate 31.06M. That was not possible. There are 58.64M free. Due to '
                 'fragmentation, the largest contiguous region of free memory is 30.56M.; (0x0x0_HBM0)'),
    Failure('A program that cannot load', 'JAX, TPU',
            'The stack of the program needs nearly the whole device, and buffers hold it.',
            text="RESOURCE_EXHAUSTED: Error loading program 'jit_embedding_pipeline_step_fn': Attempting to reserve 29.49G at "
                 'the bottom of memory. That was not possible. There are 147.64M free, 0B reserved, and 147.64M reservable.'),
    Failure('A training step that does not compile', 'JAX, TPU v6e, 2026', 'The report is the compiler\'s: nothing ran.',
            file='tpu_oom/hbm_full_2026_jax_qwen3_v6e8_34.90G.txt'),
    Failure('The same, lost to fragmentation', 'JAX, TPU v6e, 2026', 'More is lost between the temporaries than is missing.',
            file='tpu_oom/hbm_header_2026_jax_qwen3_v6e8_35.40G.PARTIAL.txt'),
    Failure('A tensor that is padded 32-fold', 'flowpm issue 27, TPU v3, 2019', 'The last dimension of 4 is padded to 128.',
            file='tpu_oom/hbm_excerpt_flowpm_issue27_2019_41.74G.EXCERPT.txt'),
    Failure('A network that is a tenth too large', 'TensorFlow 1, TPU v3, 2019',
            'No allocation stands out; the sum of activations does.', file='tpu_oom/hbm_full_2019_tf1_resnet152_v3-8_17.60G.txt'),
    Failure('A full GPU under TensorFlow', 'TensorFlow 2.14, A100, 2024', 'More is missing than fragmentation took.',
            file='bfc_oom/tf2.14_2024-07-12_1420_dual_encoder_A100.log'),
    Failure('A GPU that lacks 673.5K', 'TensorFlow 1.4, K40c, 2017', 'Only 272M were the allocator\'s.',
            file='bfc_oom/tf1.4_2017-11-06_alexnet_K40c.log'),
    Failure('A GPU of 24 GB under XLA', 'Reactant.jl, 2025', 'Four blocks of equal size are there, and the fifth does not fit.',
            file='bfc_oom/xla_tsl_2025-01-05_reactant_24GB.log'),
    Failure('A program whose buffer is refused at run time', 'JAX on CUDA, 2024',
            'The plan of the compiler stands in the log, the capacity does not.',
            file='tpu_oom/xla_gpu_buffer_assignment_oom.EXCERPT.txt', part='JAX CUDA dot (2024-05-28)'),
    Failure('PyTorch, with memory reserved but unallocated', 'FoundationVision/GenerateU issue 10',
            'Neither what is free on the device nor what is cached is large enough.',
            text='torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 496.00 MiB. GPU 0 has a total capacty of '
                 '14.75 GiB of which 235.06 MiB is free. Process 20398 has 14.52 GiB memory in use. Of the allocated memory '
                 '14.06 GiB is allocated by PyTorch, and 330.42 MiB is reserved by PyTorch but unallocated.'),
)

HEAD = '''# What does `explain` make of failures that were published?

Twelve failures, and what `hbmstress explain FILE` says of each. [explain.md](explain.md) describes
the whole output, [diagnosis.md](diagnosis.md) the causes, and
[hbm_report.md](formats/hbm_report.md) the cases of a compiler's report. The files are not part of
hbmstress.

'''
FOOT = '''
`tests/docs/explained.py HBMSTRESS FIELD_DATA` writes this page.
'''


# -- What explain prints ----------------------------------------------------------------------------------------------

def read_text(failure, data):
    """The text to explain; None: its log is absent."""
    if failure.text:
        return failure.text + '\n'
    path = data / 'data' / failure.file
    if not path.is_file():
        return None
    text = path.read_text(encoding='utf-8', errors='surrogateescape')
    if failure.part:
        text = text.split(f'##### {failure.part}\n')[1].split('\n#####')[0] + '\n'
    return text


def explain(program, text):
    """Gives the lines of JSON that explain prints, by type, the first of each; and its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / 'FILE').write_text(text, encoding='utf-8', errors='surrogateescape')
        done = subprocess.run([program, 'explain', '--json', 'FILE'], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        sys.exit(f'explained.py: explain exits with {done.returncode}: {done.stderr.strip()}')
    found = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        found.setdefault(told['type'], told)
    return found, done.returncode


def say_verdict(found, code):
    explanation = found['explanation']
    if explanation['verdict'] == 'none' and 'compile_report' in found:
        return f'none, exit code {code}: {explanation["file_message"]}'
    return f'{explanation["verdict"]}, exit code {code}: {explanation["reason"]}'


def say_cause(found):
    """The surest cause; of a compiler's report, the first case that its numbers show."""
    told = found.get('cause', found.get('case'))
    return f'`{told.get("cause", told.get("case"))}`: {told["text"]}' if told else 'none of the usual causes was found.'


def say_next(found):
    """What to do next, without the call that does it."""
    return re.split(r', which this file does not say|; what else fits', found['next']['text'])[0].rstrip('.') + '.'


# -- The page ---------------------------------------------------------------------------------------------------------

def make_section(number, failure, found, code):
    items = (('Verdict', say_verdict(found, code)), ('Why', say_cause(found)), ('Next', say_next(found)))
    lines = [f'## {number}. {failure.title}', '', *textwrap.wrap(f'{failure.origin}. {failure.note}', 100), '']
    for name, words in items:
        lines += textwrap.wrap(f'**{name}.** {words}', 100, initial_indent='- ', subsequent_indent='  ', break_long_words=False,
                               break_on_hyphens=False)
    return '\n'.join(lines) + '\n'


def make_sections(program, data):
    """Gives the section of each failure; None: its log is absent."""
    texts = [read_text(failure, data) for failure in FAILURES]
    return [text and make_section(number, failure, *explain(program, text))
            for number, (failure, text) in enumerate(zip(FAILURES, texts), 1)]


def make_page(made):
    return HEAD + '\n'.join(made) + FOOT


def check(page, made):
    """What is wrong with the page, as far as there are logs."""
    text = page.read_text(encoding='utf-8')
    if None not in made:
        difference = difflib.unified_diff(text.split('\n'), make_page(made).split('\n'), str(page), 'explain now', lineterm='')
        return '\n'.join(difference)
    missing = [section for section in made if section is not None and section not in text]
    return '\n'.join(f'not on the page:\n{section}' for section in missing)


def main():
    parser = argparse.ArgumentParser(add_help=False, usage=__doc__)
    parser.add_argument('program')
    parser.add_argument('data', type=pathlib.Path)
    parser.add_argument('--page', type=pathlib.Path, default=PAGE)
    parser.add_argument('--check', action='store_true')
    arguments = parser.parse_args()
    made = make_sections(pathlib.Path(arguments.program).resolve(), arguments.data)
    if not arguments.check:
        if None in made:
            sys.stderr.write(f'explained.py: {arguments.data} lacks {FAILURES[made.index(None)].file}\n')
            return 2
        arguments.page.write_text(make_page(made), encoding='utf-8')
        return 0
    difference = check(arguments.page, made)
    if difference:
        print(f'{difference}\n{arguments.page} is not what explain prints: tests/docs/explained.py writes it')
        return 1
    if None in made:
        print(f'{made.count(None)} logs are absent: their sections are not compared')
        return 77
    return 0


if __name__ == '__main__':
    sys.exit(main())
