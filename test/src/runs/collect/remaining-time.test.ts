import t from 'tap'
import { describeRemaining } from '../../../../src/runs/collect/remaining-time.ts'

t.test('the remaining time is estimated from the mean time of the items', async (t) => {
  t.equal(describeRemaining(10, 90, 5000), 'about 45 s left')
  t.equal(describeRemaining(400, 1, 5000), 'about 1 s left')
  t.equal(describeRemaining(100, 900, 20_000), 'about 3 min left')
  t.equal(describeRemaining(10, 990, 60_000), 'about 1 h 39 min left')
  t.equal(describeRemaining(1, 1, 59_600), 'about 1 min left')
})

t.test('without a measured item there is no estimate', async (t) => {
  t.equal(describeRemaining(0, 100, 60_000), undefined)
  t.equal(describeRemaining(10, 90, 100), undefined, 'too early')
  t.equal(describeRemaining(100, 0, 60_000), undefined, 'nothing remains')
})
