import t from 'tap'
import { PAGES, textOf } from './pages.ts'

// No GPU was at hand. Each section that mentions GPUs says whether its content was tried.

/** The words with which a section says what was tried. */
const TRIED = /\b(not tried|never (run )?with|never tried|without a GPU|not run)\b/i
/** Pages that only repeat decisions, or explain words. */
const OTHERS = /decisions|glossary/

const sections = PAGES.filter((page) => !OTHERS.test(page)).flatMap((page) =>
  textOf(page)
    .split(/^(?=#+ )/m)
    .map((text) => ({ page, text: text.replace(/\s+/g, ' '), heading: text.split('\n', 1)[0] })),
)

t.test('each section that mentions GPUs says what was tried', async (t) => {
  const about = sections.filter(({ text }) => /\bGPUs?\b/.test(text))
  t.ok(about.length > 5, `${about.length} sections`)
  for (const { page, heading, text } of about) t.match(text, TRIED, `${page}: ${heading}`)
})

t.test('in the README, only the table of metrics is about GPUs', async (t) => {
  const about = textOf('README.md')
    .split(/^(?=## )/m)
    .filter((section) => /\bGPUs?\b/.test(section))
  t.equal(about.length, 1)
  const lines = about.flatMap((section) => section.split('\n')).filter((line) => /GPU/.test(line))
  for (const line of lines) t.match(line, /^\| \[`[\w-]+`\]\(.*never with (NCCL or )?a GPU \|$/)
})
