import t from 'tap'
import { groupLines } from '../../../../../src/runs/report/first-screen/line-groups.ts'

const pods = (count: number) =>
  Array.from({ length: count }, (_, pod) => ({
    pod: `${pod}`,
    label: `${pod}`,
    percents: [[pod < 10 ? 0 : 100, null]],
    means: [pod < 10 ? 0 : 100],
    seconds: pod < 10 ? 30 : 10,
  }))

t.test('up to 64 pods have a line each', async (t) => {
  const lines = groupLines(pods(64), ['3'], 'pod')
  t.equal(lines.length, 64)
  t.strictSame(lines[0], { name: 'pod 0', count: 1, percents: [[0, null]], means: [0] })
})

t.test('more pods are groups of their mean, after the pods that findings name', async (t) => {
  const lines = groupLines(pods(1120), ['30', '700', 'unknown'], 'MPI rank')
  t.strictSame(
    lines.slice(0, 3).map(({ name, count }) => [name, count]),
    [
      ['MPI rank 30', 1],
      ['MPI rank 700', 1],
      ['MPI ranks 0 to 19', 20],
    ],
  )
  t.strictSame(lines[2]?.percents, [[50, null]], 'a value that no pod has stays unknown')
  t.match(lines[2]?.means, [25], 'the pods weigh as much as their time')
  t.equal(lines.length, 2 + 56)
  t.equal(
    lines.slice(2).reduce((sum, { count }) => sum + count, 0),
    1120,
  )
})

t.test('a pod without a number has its name alone', async (t) => {
  const [line] = groupLines(
    [{ pod: 'launcher', label: 'launcher', percents: [[1]], means: [1], seconds: 1 }],
    [],
    'pod',
  )
  t.equal(line?.name, 'launcher')
})
