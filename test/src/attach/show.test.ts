import t from 'tap'
import { parse } from 'yaml'
import { shown } from '../../../src/attach/show.ts'
import { documentOf, linesOf } from '../../output.ts'

const ATTACHMENT = { namespace: 'hpc', pod: 'db-0', container: 'perf-sysstat', target: 'db' }
const LOGS = 'kubectl logs -n hpc db-0 -c perf-sysstat -f'

t.test('an attachment says what is observed and how to read the log', async (t) => {
  t.strictSame(linesOf(shown(ATTACHMENT, 'text')), [
    'perf-sysstat observes container db of pod db-0. Read its log with:',
    `  ${LOGS}`,
  ])
})

t.test('a program reads the same', async (t) => {
  t.strictSame(JSON.parse(documentOf(shown(ATTACHMENT, 'json'))), { ...ATTACHMENT, logs: LOGS })
  t.strictSame(parse(documentOf(shown(ATTACHMENT, 'yaml'))), { ...ATTACHMENT, logs: LOGS })
})
