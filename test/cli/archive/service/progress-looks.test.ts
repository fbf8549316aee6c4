import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import {
  createProgressLooks,
  type RunToLookAt,
} from '../../../../cli/archive/service/progress-looks.ts'
import { loadCatalog } from '../../../../src/catalog/load.ts'
import { descriptionsIn } from '../../../../src/runs/log/descriptions.ts'
import { endedObserver } from '../observers.ts'

const RECORDED = new URL('../../../logs/mpi/mpi-trace-resumed.log', import.meta.url)
const LINES = readFileSync(RECORDED, 'utf8').split('\n').slice(0, -1)
const FIRST_ROW = LINES.findIndex((line) => line.startsWith('{"time"'))
const [ROW = ''] = LINES.filter((line) => line.includes('"section":"open"'))
const UNTIL = Date.parse('2100-01-01T00:00:00Z')

t.test('if all rows are too large, the largest run of the largest namespace goes', async (t) => {
  const folder = t.testdir({})
  const looks = createProgressLooks(descriptionsIn(await loadCatalog({})))
  const forgotten: string[] = []
  /** Looks at a run whose logs have rows of some MiB. */
  const look = async (namespace: string, name: string, mib: number) => {
    const logs = Array.from({ length: mib }, (_, index): RunToLookAt['logs'][number] => {
      const [id, path] = [`${name}-${index}`, `${folder}/${name}-${index}`]
      const rows = Array(Math.floor((2 ** 20 - 1) / ROW.length)).fill(ROW)
      const text = [...LINES.slice(0, FIRST_ROW), ...rows, ''].join('\n')
      writeFileSync(path, text)
      const observer = { ...endedObserver(id, 'mpi-trace'), namespace }
      return { id, path, observer, bytes: Buffer.byteLength(text), isOver: false }
    })
    const { problem, tooLarge } = await looks.look({ key: name, logs, until: UNTIL })
    t.equal(problem, undefined)
    forgotten.push(...tooLarge)
  }
  await look('hpc', 'honest', 2)
  await look('other', 'small', 3)
  await look('other', 'large', 6)
  await look('other', 'next', 4)
  t.strictSame(forgotten, [], 'all runs have room')
  await look('ml', 'late', 5)
  t.strictSame(forgotten, ['large'])
  await look('hpc', 'honest', 5)
  t.strictSame(forgotten, ['large', 'next'], 'also if another run grows')
})
