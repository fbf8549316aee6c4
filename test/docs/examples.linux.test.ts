import t from 'tap'
import { rowsOf } from '../observers/json-rows.ts'
import { observer, podOf, until } from '../observers/pod.ts'
import { observerTests } from '../observers/prerequisites.ts'
import { textOf } from './pages.ts'

const LOG = textOf('docs/examples/vitals.log')

t.test('the log of the run has the current format', observerTests(), async (t) => {
  const { run } = await podOf(t)
  const rank = await run('lammps', ['bash', '-c', 'exec -a lmp sleep 600'])
  const watching = await run('vitals', [observer('vitals')], {
    POD_NAME: 'lammps-0',
    RIDEALONG_TARGET_CONTAINER: 'lammps',
    RIDEALONG_TARGET_COMMAND: 'lmp',
    RIDEALONG_OPTION_RATE: '1',
    RIDEALONG_MODE: 'container',
    RIDEALONG_RESTART_POLICY: 'Never',
  })
  await until(watching, () => rowsOf(watching, 'tcp').length >= 2)
  rank.signal('SIGTERM')
  await rank.ended
  await watching.ended
  const [recorded, today] = [shapeOf(LOG), shapeOf(watching.log())]
  // `npm run docs:images` records the run anew.
  for (const section of ['process', 'container', 'placement', 'tcp', 'program'])
    t.strictSame(recorded.get(section), today.get(section), section)
})

/**
 * Returns the columns of the first row of each section of a log, in their order, and those of its
 * summary by the name of the first column.
 */
function shapeOf(log: string): ReadonlyMap<string, readonly string[]> {
  const lines = log.split('\n').filter((line) => line.startsWith('{'))
  const shapes = new Map<string, readonly string[]>()
  for (const row of lines.map((line): Readonly<Record<string, unknown>> => JSON.parse(line))) {
    const columns = Object.keys(row)
    const section = String(row.section ?? columns[0])
    shapes.set(section, shapes.get(section) ?? columns)
  }
  return shapes
}
