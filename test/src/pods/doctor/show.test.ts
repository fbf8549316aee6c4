import { readFileSync } from 'node:fs'
import t from 'tap'
import { examine } from '../../../../src/pods/doctor/examine.ts'
import { shown } from '../../../../src/pods/doctor/show.ts'
import { readManifests } from '../../../../src/pods/manifest/read.ts'
import { documentOf, linesOf } from '../../../output.ts'
import { forbidden, HOST, other, WELL, withWebhook } from './build.ts'

t.test('each check is one line, and a failed check has its remedy below', async (t) => {
  const output = shown(examine(withWebhook({ ready: { value: 0 } })), 'text')
  const lines = linesOf(output)
  const at = lines.findIndex((line) => line.startsWith('no '))
  const fault = 'Service ridealong-system/ridealong has no ready endpoint'
  t.equal(lines[at], `no       Service                ${fault}`)
  t.match(lines[at + 1], /^ {32}What to do: find out why no replica is ready, .*\.$/)
  t.equal(lines.length, 15 + 2)
  t.equal(lines.at(-1), '1 of 15 checks failed.')
  t.equal(linesOf(shown(examine(WELL), 'text')).at(-1), 'Pods that request observers get them.')
  const unread = { ...WELL, namespaces: forbidden }
  t.match(
    linesOf(shown(examine(unread), 'text')).at(-1),
    /get them; 2 of the checks could not be made\.$/,
  )
})

t.test('in a terminal of 80 columns, sentences are wrapped in their column', async (t) => {
  const output = shown(examine(withWebhook({ ready: { value: 0 } })), 'text')
  const lines = linesOf(output, 80)
  for (const line of lines) t.ok(line.length <= 80, line)
  const [first = -1] = lines.flatMap((line, at) => (line.startsWith('no ') ? [at] : []))
  t.strictSame(lines.slice(first, first + 4), [
    'no       Service                Service ridealong-system/ridealong has no ready',
    '                                endpoint',
    '                                What to do: find out why no replica is ready,',
    "                                and check that the Service's selector is the",
  ])
})

t.test('the sample in the page of doctor is the beginning of its output', async (t) => {
  const url = new URL('../../../../docs/administer/doctor.md', import.meta.url)
  const page = readFileSync(url, 'utf8')
  const [, sample = ''] = page.match(/^\$ ridealong doctor\n(.*?)\.\.\.\n```$/ms) ?? []
  for (const line of sample.split('\n')) t.ok(line.length <= 80, line)
  // The sample has other times and other names, so its line breaks can differ.
  const general = (text: string) =>
    text
      .replaceAll(/\s+/g, ' ')
      .replaceAll('zz-ridealong', 'ridealong')
      .replaceAll(/20\d\d-\S+Z/g, 'TIME')
      .replaceAll(/CN=.*?(?= What to do)/g, 'CN')
  const { cert: foreign } = await other.issue({ names: [HOST], days: 90 })
  const checks = examine(withWebhook({ serving: { value: foreign } }))
  const printed = general(linesOf(shown(checks, 'text'), 80).join('\n'))
  t.not(general(sample), '')
  t.equal(printed.slice(0, general(sample).length), general(sample))
})

t.test('the JSON and YAML output has the outcome and the checks', async (t) => {
  const checks = examine(withWebhook({ ready: { value: 0 } }))
  const read = JSON.parse(documentOf(shown(checks, 'json')))
  t.strictSame(read, { outcome: 'faulty', checks })
  const [manifest] = readManifests('doctor', documentOf(shown(checks, 'yaml')))
  t.strictSame(manifest?.value, { outcome: 'faulty', checks })
})
