import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openFolder } from '../../observers/pod.ts'
import { run } from '../mpi/programs.ts'
import { pythons, systemPython } from '../python/sampler.ts'
import { program, recording, STAND_IN, toolTests } from './torch-tool.ts'

const options = toolTests()
/** Removes what differs between two runs. */
const stable = (text: string) => text.replaceAll(/0x[0-9a-f]+/g, '')
const folder = openFolder('ridealong-invisible-')
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

/** Prints all that a program could notice of the tool, apart from LD_PRELOAD. */
const LOOK = `
import os, sys
print(sys.path, sorted(sys.modules), sorted(sys.path_importer_cache), sys.argv, sys.flags)
print({k: v for k, v in os.environ.items() if not k.startswith(('RIDEALONG', 'LD_PRELOAD', '_'))})
print(getattr(sys.modules.get('sitecustomize'), '__file__', None), os.listdir('/proc/self/fd'))
print([type(each).__name__ for each in sys.meta_path], len(os.listdir('/proc/self/task')))
import atexit; print(atexit._ncallbacks())
`

/** Makes a folder with these files of Python. */
function modules(name: string, files: Readonly<Record<string, string>>): string {
  const path = join(folder, name)
  mkdirSync(path, { recursive: true })
  for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
  return path
}

const look = join(modules('script', { 'look.py': LOOK }), 'look.py')
const own = modules('own', {
  'sitecustomize.py': 'import sys; sys.own = 1; print("own", __name__)',
})
const broken = modules('broken', { 'sitecustomize.py': '1 / 0' })
const lacking = modules('lacking', { 'sitecustomize.py': 'import none_such' })
const exits = modules('exits', { 'sitecustomize.py': 'import sys; sys.exit(9)' })
const zip = join(folder, 'app.pyz')
execFileSync('python3', ['-m', 'zipapp', modules('zip', { '__main__.py': LOOK }), '-o', zip])
const shebang = join(folder, 'shebang')
writeFileSync(shebang, `#!${systemPython()} -E\n${LOOK}`)
chmodSync(shebang, 0o755)

/** A way to run a program in Python, with its variables. */
interface Way {
  readonly words: readonly string[]
  readonly env?: NodeJS.ProcessEnv
}

const WAYS: Readonly<Record<string, Way>> = {
  'a script': { words: [look, 'word'] },
  'a command': { words: ['-c', LOOK] },
  'a module': { words: ['-m', 'look'], env: { PYTHONPATH: join(folder, 'script') } },
  '-S': { words: ['-S', look] },
  '-I': { words: ['-I', look] },
  '-E': { words: ['-E', look] },
  'several options': { words: ['-W', 'error', '-X', 'utf8', '-sEu', look] },
  'a word that looks like an option': { words: [look, '-E', '-I'] },
  'a zipapp': { words: [zip] },
  'PYTHONPATH of the image': { words: [look], env: { PYTHONPATH: `${own}:/none` } },
  'an empty PYTHONPATH': { words: [look], env: { PYTHONPATH: '' } },
  'an empty part of PYTHONPATH': { words: [look], env: { PYTHONPATH: ':/none:' } },
  PYTHONSAFEPATH: { words: [look], env: { PYTHONSAFEPATH: '1' } },
  PYTHONNOUSERSITE: { words: [look], env: { PYTHONNOUSERSITE: '1', HOME: folder } },
  'a sitecustomize that fails': { words: [look], env: { PYTHONPATH: broken } },
  'a sitecustomize that misses a module': { words: [look], env: { PYTHONPATH: lacking } },
  'a sitecustomize that exits': { words: [look], env: { PYTHONPATH: exits } },
  'an exit code': { words: ['-c', 'import sys; sys.exit(7)'] },
  'an exception': { words: ['-c', '1 / 0'] },
  'a signal': { words: ['-c', 'import os; os.kill(os.getpid(), 9)'] },
  'a crash': { words: ['-X', 'faulthandler', '-c', 'import ctypes; ctypes.string_at(0)'] },
  'a missing module': { words: ['-c', 'import torch'] },
  'processes with another environment': {
    words: [
      '-c',
      'import subprocess, sys\nlook = sys.argv[1]\n' +
        'for env in ({}, None, {"PYTHONPATH": "/none"}):\n' +
        '  print(subprocess.run([sys.executable, look], env=env, capture_output=True).stdout)',
      look,
    ],
  },
  'a second site': { words: ['-S', '-c', 'import site, sys; site.main(); print(sys.path)'] },
}

for (const { version, path } of pythons())
  t.test(`CPython ${version}: programs are the same without PyTorch`, options, async (t) => {
    for (const [name, { words, env }] of Object.entries(WAYS)) {
      const plain = await run([path, ...words], env)
      const recorded = await run([path, ...words], { ...env, ...recording() })
      t.equal(recorded.code, plain.code, name)
      t.equal(stable(recorded.output), stable(plain.output), name)
      // The traceback of this error names the sitecustomize.py of the tool, too.
      if (name !== 'a sitecustomize that exits')
        t.equal(stable(recorded.errors), stable(plain.errors), name)
    }
  })

for (const { version, path } of pythons())
  t.test(`CPython ${version}: the recorder keeps no program from its end`, options, async (t) => {
    const env = { PYTHONPATH: STAND_IN }
    const ends = [program('ends.py')]
    const calls =
      'import time, torch.distributed as d; d.init_process_group("gloo"); time.sleep(2.5)'
    const check = async (words: readonly string[], variables: NodeJS.ProcessEnv) => {
      const killed = ['timeout', '--signal=KILL', '30', path, ...words]
      const plain = await run(killed, variables)
      t.strictSame(await run(killed, { ...variables, ...recording(1) }), plain, words.join(' '))
      t.equal(plain.code, 0, plain.errors)
    }
    await Promise.all([
      check([...ends, 'fork'], env),
      check([...ends, 'main'], env),
      check(['-c', calls], { ...env, STAND_IN_HANGS: '1' }),
    ])
  })
