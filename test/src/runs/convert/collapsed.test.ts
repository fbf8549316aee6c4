import t from 'tap'
import { convertRun } from '../../../../src/runs/convert/convert.ts'
import { pageData } from '../../../../src/runs/report/data.ts'
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
    for (const { program, ranks, seconds } of profiles.programs) {
      const ofProgram = stacks.filter(([names]) => names[1] === program)
      const sum = ofProgram.reduce((all, [, number]) => all + number, 0)
      t.equal(Number((sum / 1e6).toPrecision(6)), seconds, `the processor time of ${program}`)
      t.strictSame([...new Set(ofProgram.map(([names]) => names[0]))], ranks)
    }
    t.equal(new Set(stacks.map(([names]) => names[1])).size, profiles.programs.length)
  })
}

t.test('a line has the rank, the program and the functions from the outermost on', async (t) => {
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

t.test('the same stack of several processes of a rank is one line', async (t) => {
  const run = profileRows([
    { pid: 1, stack: 'main;f', seconds: 0.5 },
    { pid: 2, stack: 'main;f', seconds: 1 },
    { pid: 2, stack: 'main', seconds: 0 },
    { rank: '10', stack: 'main;f', seconds: 2 },
    { rank: '2', stack: 'main;f', seconds: 3 },
  ])
  t.equal(
    collapsed(run),
    '0;lmp;main;f 1500000\n2;lmp;main;f 3000000\n10;lmp;main;f 2000000\n',
    'the ranks are in natural order',
  )
})

t.test('a run without stacks is an error that names the metric with stacks', async (t) => {
  t.throws(() => convertRun(recordedRun('mpi'), 'collapsed', 'ridealong'), {
    name: 'NothingToConvert',
    message: 'no stacks of functions were collected; observe the run with cpu-profile',
  })
})
