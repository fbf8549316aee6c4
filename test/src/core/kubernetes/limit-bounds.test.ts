import t from 'tap'
import { boundsProblem } from '../../../../src/core/kubernetes/limit-bounds.ts'
import {
  EMPTY_RESOURCE_LIST,
  readResourceList,
} from '../../../../src/core/kubernetes/resource-list.ts'
import type { Json } from '../build.ts'

const problemOf = (bounds: Json, requests: Json, limits: Json) => {
  const none = {
    min: EMPTY_RESOURCE_LIST,
    max: EMPTY_RESOURCE_LIST,
    maxLimitRequestRatio: EMPTY_RESOURCE_LIST,
  }
  const read = Object.entries(bounds).map(([rule, cpu]) => [rule, readResourceList({ cpu })])
  return boundsProblem(
    { type: 'Container', ...none, ...Object.fromEntries(read) },
    { requests: readResourceList(requests), limits: readResourceList(limits) },
    'app',
  )
}

/** Bounds for cpu, a request, a limit, and a part of the problem; empty for no problem. */
const ROWS: readonly (readonly [Json, string | undefined, string | undefined, string])[] = [
  [{ min: '100m' }, '100m', undefined, ''],
  [{ min: '100m' }, '99m', undefined, 'app requests 99m'],
  [{ min: '100m' }, undefined, '1', 'app has no request'],
  [{ min: '100m' }, '100m', '99m', 'app has a limit of 99m'],
  [{ max: '100m' }, undefined, '100m', ''],
  [{ max: '100m' }, '10m', '101m', 'app has a limit of 101m'],
  [{ max: '100m' }, '10m', undefined, 'app has no limit'],
  [{ max: '100m' }, '101m', '100m', 'app requests 101m'],
  [{ maxLimitRequestRatio: '2' }, '100m', '200m', ''],
  [{ maxLimitRequestRatio: '2' }, '100m', '201m', 'app has a limit of 201m and requests 100m'],
  [{ maxLimitRequestRatio: '2' }, '0', '200m', 'app requests 0'],
  [{ maxLimitRequestRatio: '2' }, undefined, '200m', 'app requests 0'],
  [{ maxLimitRequestRatio: '2' }, '100m', undefined, 'app has a limit of 0'],
  [{ maxLimitRequestRatio: '1500m' }, '100m', '150m', ''],
  [{ maxLimitRequestRatio: '1500m' }, '100m', '151m', 'app has a limit of 151m and requests 100m'],
  [{ maxLimitRequestRatio: '2' }, '10P', '20P', ''],
  [{ maxLimitRequestRatio: '2' }, '10P', '21P', 'and requests 10000000000000000'],
  // Kubernetes computes in floating point, where 403 / 200 * 1000 is a little more than 2015.
  [{ maxLimitRequestRatio: '2015m' }, '200m', '403m', 'app has a limit of 403m and requests 200m'],
]

for (const [bounds, request, limit, problem] of ROWS) {
  const verb = problem === '' ? 'allows' : 'forbids'
  t.test(
    `${JSON.stringify(bounds)} ${verb} the request ${request} with the limit ${limit}`,
    async (t) => {
      const requests = request === undefined ? {} : { cpu: request }
      const limits = limit === undefined ? {} : { cpu: limit }
      const found = problemOf(bounds, requests, limits)
      if (problem === '') t.equal(found, undefined)
      else t.match(found, problem)
    },
  )
}

t.test('a request or limit without a bound can have any amount', async (t) => {
  t.equal(problemOf({ max: '1' }, { memory: '9Gi' }, { cpu: '1', memory: '9Gi' }), undefined)
})
