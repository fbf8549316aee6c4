import t from 'tap'
import { noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { systemPython } from '../python/sampler.ts'
import { checkLateRank, recordedPod } from './late-rank.ts'
import { STAND_IN, torchTests } from './torch-tool.ts'

const options = torchTests()
const python = systemPython()
const PYTHONPATH = STAND_IN

t.test('the late rank and its delay are those of the program', options, async (t) => {
  await checkLateRank(t, python, { PYTHONPATH })
})

/** Makes calls, and then does something. */
const calls = (count: number, then: string) =>
  'import os, time, torch, torch.distributed as dist\n' +
  `dist.init_process_group("gloo")\nfor _ in range(${count}): dist.all_reduce(torch.zeros(1))\n` +
  then

t.test(
  'a killed process has the calls of its last copy; a child and a new group have their own',
  options,
  async (t) => {
    const { watching, start } = await recordedPod(t, { PYTHONPATH, TORCH_FR_BUFFER_SIZE: '50' }, 1)
    const hung = await start(python, '-c', calls(60, 'time.sleep(60)'))
    const forks =
      'pid = os.fork()\nif pid == 0:\n  dist.init_process_group("gloo"); dist.all_reduce([])\n' +
      '  dist.destroy_process_group(); dist.init_process_group("gloo")\n' +
      '  for _ in range(3): dist.all_reduce([])\n' +
      '  time.sleep(6); raise SystemExit\n' +
      'os.waitpid(pid, 0); assert os.environ["TORCH_FR_BUFFER_SIZE"] == "50"; os._exit(3)'
    const forking = await start(python, '-c', calls(2, forks))
    t.equal(await forking.ended, 3)
    hung.signal('SIGKILL')
    t.equal(await hung.ended, 'SIGKILL')
    t.equal(await watching.ended, 0)
    const processes = Map.groupBy(rowsOf(watching, 'collective'), ({ pid }) => pid)
    const numbers = [...processes.values()].map((own) =>
      [...Map.groupBy(own, ({ group }) => String(group))].map(
        ([group, calls]) => `${group}: ${calls.map(({ number }) => number)}`,
      ),
    )
    t.strictSame(
      numbers.sort((a, b) => a.length - b.length || a.join().length - b.join().length),
      [
        ['0: 1,2'],
        [`0: ${Array.from({ length: 50 }, (_, at) => at + 11)}`],
        ['0: 1,2', '0#2: 1', '0#3: 1,2,3'],
      ],
      'the child has the calls of its parent, and those of its own two groups',
    )
    const last = rowsOf(watching, 'group').filter(({ group }) => group === '0#3')
    t.match(last.at(-1), { description: 'default_pg', size: 1, last_number: 3 })
  },
)

t.test('a recorder that fails, or is missing, changes nothing', options, async (t) => {
  const { watching, start } = await recordedPod(t, { PYTHONPATH, STAND_IN_FAILS: '1' })
  const app = await start(python, '-c', calls(1, 'time.sleep(4); print("done"); os.sys.exit(5)'))
  t.equal(await app.ended, 5)
  t.equal(app.log(), 'done\n')
  t.equal(await watching.ended, 0)
  t.strictSame(rowsOf(watching, 'collective'), [])
  t.match(rowsOf(watching, 'process').at(-1), { copies: 0 })
})

t.test('a program without PyTorch has no rows, and a notice says so', options, async (t) => {
  const { watching, start } = await recordedPod(t, { PYTHONPATH: '/none' })
  t.equal(await (await start(python, '-c', 'import time; time.sleep(2)')).ended, 0)
  t.equal(await watching.ended, 0)
  t.strictSame(rowsOf(watching, 'process'), [])
  t.match(noticesOf(watching), [/^no process has recorded collective operations: /])
})
