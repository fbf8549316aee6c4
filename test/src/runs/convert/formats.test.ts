import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { convertRun } from '../../../../src/runs/convert/convert.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
import { speedscope } from './converted.ts'
import { profileRows } from './profile-rows.ts'
import { recordedRun } from './recorded.ts'

/** A line as flamegraph.pl reads it: all before the last blank is the stack. */
const LINE = /^(?<stack>.*)\s+?(?<number>\d+)$/

/** Returns the stacks of collapsed lines, each with its number. */
function readStacks(lines: string): readonly (readonly [string[], number])[] {
  return lines.split('\n').flatMap((line) => {
    if (line === '') return []
    const { stack = '', number = '' } = LINE.exec(line)?.groups ?? {}
    return [[stack.split(';'), Number(number)] as const]
  })
}

function collapsed(run: Parameters<typeof convertRun>[0]): string {
  return [...convertRun(run, 'collapsed', 'ridealong').parts].join('')
}

for (const name of ['profiles', 'all-metrics'] as const) {
  t.test(`the collapsed stacks of ${name} have the times of the report`, async (t) => {
    const run = recordedRun(name)
    const stacks = readStacks(collapsed(run))
    const { profiles } = pageData(run, 'auto')
    if (profiles === undefined) throw new Error('the recordings have no profiles')
    for (const { program, pods, seconds } of profiles.programs) {
      const ofProgram = stacks.filter(([names]) => names[1] === program)
      const sum = ofProgram.reduce((all, [, number]) => all + number, 0)
      t.equal(Number((sum / 1e6).toPrecision(6)), seconds, `the processor time of ${program}`)
      t.strictSame([...new Set(ofProgram.map(([names]) => names[0]))], pods)
    }
    t.equal(new Set(stacks.map(([names]) => names[1])).size, profiles.programs.length)
  })
}

t.test('a line has the pod, the program and the functions from the outermost on', async (t) => {
  const lines = collapsed(recordedRun('profiles')).split('\n')
  t.equal(
    lines[1],
    'cpu-profile-lammps-0.log;lmp;LAMMPS_NS::Verlet::run;LAMMPS_NS::Neighbor::build;' +
      'LAMMPS_NS::NPairHalfBinAtomonlyNewton::build 750000',
  )
  t.ok(lines.slice(0, -1).every((line) => LINE.test(line)))
})

t.test('no name can add a frame or a line', async (t) => {
  const run = profileRows([{ program: 'a;b\nc 7', stack: 'main;x y\n1', seconds: 0.25 }])
  t.equal(collapsed(run), '0;a:b\\nc 7;main;x y\\n1 250000\n')
})

t.test('the same stack of several processes of a pod is one line', async (t) => {
  const run = profileRows([
    { pid: 1, stack: 'main;f', seconds: 0.5 },
    { pid: 2, stack: 'main;f', seconds: 1 },
    { pid: 2, stack: 'main', seconds: 0 },
    { pod: '10', stack: 'main;f', seconds: 2 },
    { pod: '2', stack: 'main;f', seconds: 3 },
  ])
  t.equal(
    collapsed(run),
    '0;lmp;main;f 1500000\n2;lmp;main;f 3000000\n10;lmp;main;f 2000000\n',
    'the pods are in natural order',
  )
})

t.test('a run without stacks is an error that names the metric with stacks', async (t) => {
  t.throws(() => convertRun(recordedRun('mpi'), 'collapsed', 'ridealong'), {
    name: 'NothingToConvert',
    message: 'no stacks of functions were collected; observe the run with cpu-profile',
  })
})

const SCHEMA = new URL(
  '../../../../node_modules/speedscope/dist/release/file-format-schema.json',
  import.meta.url,
)
const isValid = new Ajv({ strict: false }).compile(JSON.parse(readFileSync(SCHEMA, 'utf8')))

for (const name of ['profiles', 'all-metrics'] as const) {
  t.test(`the file of ${name} matches the schema, and has the times of the report`, async (t) => {
    const run = recordedRun(name)
    const file = JSON.parse(speedscope(run))
    t.ok(isValid(file), JSON.stringify(isValid.errors))
    t.equal(file.exporter, 'ridealong 1.0')
    const program = pageData(run, 'auto').profiles?.programs[0]
    if (program === undefined) throw new Error('the recordings have no profiles')
    t.strictSame(
      file.profiles.map((profile: { name: string }) => profile.name),
      program.pods.map((pod) => `pod ${pod}, lmp`),
    )
    let whole = 0
    for (const { endValue, weights, unit, samples } of file.profiles) {
      t.strictSame([unit, samples.length], ['seconds', weights.length])
      t.equal(
        weights.reduce((sum: number, own: number) => sum + own, 0),
        endValue,
      )
      whole += endValue
    }
    t.equal(Number(whole.toPrecision(6)), program.seconds)
  })
}

t.test('stacks that begin with the same functions are adjacent', async (t) => {
  const { shared, profiles } = JSON.parse(
    speedscope(
      profileRows([
        { stack: 'main;g', seconds: 1 },
        { stack: 'other', seconds: 2 },
        { stack: 'main;f;h', seconds: 3 },
        { stack: 'main', seconds: 4 },
        { stack: 'main;f', seconds: 5 },
        { pod: '1', program: 'a "b"\u001b', stack: 'other;main', seconds: 6 },
      ]),
    ),
  )
  const stacks = (index: number) =>
    profiles[index].samples.map((frames: readonly number[]) =>
      frames.map((frame) => shared.frames[frame].name).join(';'),
    )
  t.strictSame(stacks(0), ['main', 'main;g', 'main;f', 'main;f;h', 'other'])
  t.strictSame(profiles[0].weights, [4, 1, 5, 3, 2])
  t.equal(profiles[1].name, 'pod 1, a "b"\u001b')
  t.strictSame(stacks(1), ['other;main'], 'programs share the frames')
})
