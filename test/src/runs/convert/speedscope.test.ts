import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import t from 'tap'
import { pageData } from '../../../../src/runs/report/data.ts'
import { speedscope } from './converted.ts'
import { profileRows } from './profile-rows.ts'
import { recordedRun } from './recorded.ts'

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
      program.ranks.map((rank) => `rank ${rank}, lmp`),
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
        { rank: '1', program: 'a "b"\u001b', stack: 'other;main', seconds: 6 },
      ]),
    ),
  )
  const stacks = (index: number) =>
    profiles[index].samples.map((frames: readonly number[]) =>
      frames.map((frame) => shared.frames[frame].name).join(';'),
    )
  t.strictSame(stacks(0), ['main', 'main;g', 'main;f', 'main;f;h', 'other'])
  t.strictSame(profiles[0].weights, [4, 1, 5, 3, 2])
  t.equal(profiles[1].name, 'rank 1, a "b"\u001b')
  t.strictSame(stacks(1), ['other;main'], 'programs share the frames')
})
