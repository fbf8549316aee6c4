import t from 'tap'
import { mismatchesIn, noticesOf, rowsOf } from '../../observers/json-rows.ts'
import { summaryOf } from '../../observers/prerequisites.ts'
import { systemPython } from '../python/sampler.ts'
import { collectFiles } from '../raw-files.ts'
import { program, torchTests } from './torch-tool.ts'
import { tracedPod } from './traced-pod.ts'

// kineto.py imitates the client in PyTorch; installed/trace.test.ts uses PyTorch itself.

const options = torchTests()
const python = systemPython()
const PROGRAM = program('kineto.py')
const STEPS = { step: 600, steps: 4 }
const USER = { user: 1000, group: 1000, drops: true }
const USERS = { observer: USER, target: USER }

/** Returns the numbers of the steps in a trace. */
const stepsIn = (trace: Buffer): readonly number[] =>
  JSON.parse(trace.toString()).traceEvents.map(({ ts }: { ts: number }) => ts)

t.test('all ranks record the same steps, and the log has their traces', options, async (t) => {
  const { watching, start } = await tracedPod(t, STEPS, {})
  const ranks = [0, 1].map((rank) => start('env', `RANK=${rank}`, python, PROGRAM, '750'))
  const killed = await start('env', 'RANK=2', python, PROGRAM, '750', 'kill')
  const idle = await start('env', 'RANK=3', python, PROGRAM, '700', 'none')
  // A launcher also asks, and a process that rank 0 has started.
  const launcher = await start(python, PROGRAM, '700', 'none')
  const worker = await start('env', 'RANK=0', python, PROGRAM, '400', 'none')
  for (const { ended, log } of await Promise.all(ranks)) {
    t.equal(await ended, 0)
    t.match(log(), /^steps 750 answers [1-9]\d*\n$/)
  }
  t.equal(await killed.ended, 'SIGKILL')
  for (const { ended } of [idle, launcher, worker]) t.equal(await ended, 0)
  t.equal(await watching.ended, 0)
  t.strictSame(mismatchesIn(watching, 'torch-trace'), [])
  const rows = rowsOf(watching, 'trace')
  const ofPod = (rank: number) => rows.filter(({ world_rank }) => world_rank === rank)
  const files = await collectFiles(t, watching.log(), 'torch-trace')
  t.strictSame(files.problems, [])
  t.equal(files.files, 2, 'the file of the killed process is not sent')
  for (const rank of [0, 1]) {
    const [row] = ofPod(rank)
    t.match(row, { trace: 'complete', file: `trace_${row?.pid}.json`, program: 'kineto.py' })
    const trace = files.read(String(row?.file))
    t.equal(trace.length, row?.bytes)
    t.strictSame(stepsIn(trace), [600, 601, 602, 603])
    t.ok(Math.abs(Number(row?.written) - Date.now() / 1000) < 600, 'the time of the file')
  }
  t.match(ofPod(2), [{ trace: 'incomplete', file: null }])
  t.match(ofPod(3), [{ trace: 'missing', file: null }])
  t.equal(rows.length, 4, 'the launcher and the worker have no row')
  t.match(noticesOf(watching), [/^processes of PyTorch without a trace: 1; .* step 600,/])
  t.match(summaryOf(watching.log()), [{ traces: 2, incomplete: 1, missing: 1 }])
})

/** Sends wrong datagrams, and then asks as a process of PyTorch does. */
const HOSTILE = `
import array, os, socket, struct, time
folder = os.environ['KINETO_IPC_SOCKET_DIR']
def bound(name):
    client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    client.bind(f'{folder}/{name}')
    client.settimeout(30)
    return client
client, other = bound('dynoconfigclientabc'), bound('elsewhere')
def message(kind, body, size=None):
    return struct.pack('=Q32s', len(body) if size is None else size, kind) + body
request = struct.pack('=iiqi', 2, 1, 0, os.getpid())
for wrong in [b'', b'x', message(b'req', request, 2**64 - 1), message(b'req', b''),
              message(b'other', request), message(b'req', request[:-4]), bytes(100000),
              message(b'req', struct.pack('=iiq', 2, -1, 0)),
              message(b'req', struct.pack('=iiq', 2, 2**31 - 1, 0))]:
    client.sendto(wrong, f'{folder}/dynolog')
other.sendto(message(b'req', request), f'{folder}/dynolog')
unbound, abstract = [socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2)]
abstract.bind(bytes(1) + b'dynoconfigclient1')
for sender in unbound, abstract:
    sender.sendto(message(b'req', request), f'{folder}/dynolog')
files = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0] * 100))]
client.sendmsg([message(b'req', request)], files, 0, f'{folder}/dynolog')
client.sendto(message(b'req', request), f'{folder}/dynolog')
answers = [client.recv(4096)]
client.sendto(message(b'ctxt', bytes(16)), f'{folder}/dynolog')
answers.append(client.recv(4096))
print([answer[8:40].rstrip(bytes(1)).decode() for answer in answers])
os.remove(f'{folder}/dynolog')
os.mkfifo(f'{folder}/trace_{os.getpid()}')
os.symlink('/etc/passwd', f'{folder}/trace_1')
time.sleep(6)
`

t.test('wrong datagrams and files end nothing', options, async (t) => {
  const { watching, start } = await tracedPod(t, STEPS, USERS)
  const hostile = await start(python, '-c', HOSTILE)
  t.equal(await hostile.ended, 0)
  t.equal(hostile.log(), "['req', 'ctxt']\n")
  t.equal(await watching.ended, 0)
  t.match(rowsOf(watching, 'trace'), [{ trace: 'incomplete', file: null }])
  t.equal((await collectFiles(t, watching.log(), 'torch-trace')).files, 0)
  t.match(noticesOf(watching), [/^datagrams .* that are not those of PyTorch: 13$/])
})
