import t from 'tap'
import { parse } from 'yaml'
import { shown } from '../../../../src/pods/attach/show.ts'
import { documentOf, linesOf } from '../../../output.ts'

const ATTACHMENT = {
  namespace: 'hpc',
  pod: 'db-0',
  container: 'perf-sysstat',
  target: 'db',
  image: 'example.com/observer:1',
}
const LOGS = 'kubectl logs -n hpc db-0 -c perf-sysstat -f'

t.test('the output names the observed container and the command that reads its log', async (t) => {
  t.strictSame(linesOf(shown(ATTACHMENT, 'text')), [
    'perf-sysstat observes container db of pod db-0. Read its log with:',
    `  ${LOGS}`,
  ])
})

t.test('the JSON and YAML output has the names and the command', async (t) => {
  t.strictSame(JSON.parse(documentOf(shown(ATTACHMENT, 'json'))), { ...ATTACHMENT, logs: LOGS })
  t.strictSame(parse(documentOf(shown(ATTACHMENT, 'yaml'))), { ...ATTACHMENT, logs: LOGS })
})
