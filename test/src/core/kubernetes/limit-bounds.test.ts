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
  )
}

const ROWS: readonly (readonly [Json, string | undefined, string | undefined, string])[] = [
  [{ min: '100m' }, '100m', undefined, ''],
  [{ min: '100m' }, '99m', undefined, 'the request is 99m'],
  [{ min: '100m' }, undefined, '1', 'there is no request'],
  [{ min: '100m' }, '100m', '99m', 'the limit is 99m'],
  [{ max: '100m' }, undefined, '100m', ''],
  [{ max: '100m' }, '10m', '101m', 'the limit is 101m'],
  [{ max: '100m' }, '10m', undefined, 'there is no limit'],
  [{ max: '100m' }, '101m', '100m', 'the request is 101m'],
  [{ maxLimitRequestRatio: '2' }, '100m', '200m', ''],
  [{ maxLimitRequestRatio: '2' }, '100m', '201m', 'the limit is 201m and the request 100m'],
  [{ maxLimitRequestRatio: '2' }, '0', '200m', 'the request is 0'],
  [{ maxLimitRequestRatio: '2' }, undefined, '200m', 'the request is 0'],
  [{ maxLimitRequestRatio: '2' }, '100m', undefined, 'the limit is 0'],
  [{ maxLimitRequestRatio: '1500m' }, '100m', '150m', ''],
  [{ maxLimitRequestRatio: '1500m' }, '100m', '151m', 'the limit is 151m and the request 100m'],
  [{ maxLimitRequestRatio: '2' }, '10P', '20P', ''],
  [{ maxLimitRequestRatio: '2' }, '10P', '21P', 'the request 10000000000000000'],
  // In floating point, which Kubernetes uses, 403 / 200 * 1000 is slightly more than 2015.
  [{ maxLimitRequestRatio: '2015m' }, '200m', '403m', 'the limit is 403m and the request 200m'],
]

for (const [bounds, request, limit, problem] of ROWS) {
  t.test(`${JSON.stringify(bounds)} with ${request} and ${limit}`, async (t) => {
    const requests = request === undefined ? {} : { cpu: request }
    const limits = limit === undefined ? {} : { cpu: limit }
    const found = problemOf(bounds, requests, limits)
    if (problem === '') t.equal(found, undefined)
    else t.match(found, problem)
  })
}

t.test('a resource without bounds may be anything', async (t) => {
  t.equal(problemOf({ max: '1' }, { memory: '9Gi' }, { cpu: '1', memory: '9Gi' }), undefined)
})
