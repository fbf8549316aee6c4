import t from 'tap'
import { countRequests, readAudit, scansIn, shareOfScans } from './audit.ts'

const BEGIN = Date.parse('2026-01-01T12:00:00Z')
const at = (ms: number) => new Date(BEGIN + ms).toISOString().replace('Z', '000Z')

/** Returns a line of the audit log, for a request from `begin` to `end`. */
function line(uri: string, begin: number, end: number, more: object = {}): string {
  return `${JSON.stringify({
    auditID: `${uri}-${begin}`,
    stage: 'ResponseComplete',
    verb: 'list',
    requestURI: uri,
    objectRef: { resource: 'pods' },
    requestReceivedTimestamp: at(begin),
    stageTimestamp: at(end),
    ...more,
  })}\n`
}

const FIRST = '/api/v1/pods?limit=500'
const NEXT = '/api/v1/pods?limit=500&continue=abc'

t.test('the pages of a scan belong together', async (t) => {
  const log = [line(FIRST, 0, 10), line(NEXT, 15, 20), line(NEXT, 30, 40), line(FIRST, 1000, 1010)]
  const scans = scansIn(readAudit(log.join('')))
  t.strictSame(scans, [
    { begin: BEGIN, end: BEGIN + 40, requests: 25, pages: 3 },
    { begin: BEGIN + 1000, end: BEGIN + 1010, requests: 10, pages: 1 },
  ])
  t.equal(shareOfScans(scans), 0.025)
  t.ok(Number.isNaN(shareOfScans(scans.slice(1))), 'one scan has no share')
})

t.test('a watch is one request, and a line that is being written is none', async (t) => {
  const watch = '/api/v1/namespaces?watch=true'
  const opened = { auditID: 'w', verb: 'watch', stage: 'ResponseStarted' }
  const log = [line(watch, 0, 1, opened), line(watch, 0, 900, { auditID: 'w', verb: 'watch' })]
  const requests = readAudit(`${log.join('')}${line(FIRST, 0, 1).slice(0, 30)}`)
  t.strictSame(countRequests(requests), [['watch pods', 1]])
  t.equal(requests[0]?.end, BEGIN + 900)
  t.equal(readAudit(log[0] ?? '')[0]?.end, undefined, 'the watch is open')
})
