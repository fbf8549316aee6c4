import { readFileSync } from 'node:fs'
import t from 'tap'
import { embed } from '../../../../src/runs/report/page.ts'
import { pageOf, SMALL } from './generated-page.ts'

const embedded = (data: unknown) => [...embed(data)].join('')

t.test('the data in a page cannot begin a tag or a comment', async (t) => {
  const data = { program: '</script><!--<script>', pod: 'lmp' }
  t.notMatch(embedded(data), '<')
  t.strictSame(JSON.parse(embedded(data)), data)
})

t.test('all texts in the data of a page are printable', async (t) => {
  const data = { program: 'a\u202eb\u2028', pod: ['\u001b[2J'] }
  t.strictSame(JSON.parse(embedded(data)), { program: 'a\\u202eb\\u2028', pod: ['\\u001b[2J'] })
})

t.test('the page has the sentence about the run without its script', async (t) => {
  const page = readFileSync(await pageOf(t, SMALL, '--title', 'VERDICT <b>'), 'utf8')
  const [, verdict] = /<p id="verdict">(.*?)<\/p>/.exec(page) ?? []
  t.match(verdict, /^Took at least 6 min 31 s on 4 pods; its end is not known\. /)
  t.match(page, '<h1>VERDICT &lt;b&gt;</h1>')
})
