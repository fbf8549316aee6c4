import { escapeHtml } from '../../core/text/html.ts'
import { printable } from '../../core/text/printable.ts'
import { type Asset, beginDocument } from '../html-document.ts'
import type { PageData } from './data.ts'
import { podsElement } from './document/page-pods.ts'
import { overviewData } from './first-screen/overview.ts'
import { jsonParts } from './json-parts.ts'

export interface PageParts {
  readonly title: string
  readonly style: Asset
  readonly script: Asset
  readonly data: PageData
  /** The pods that identify the run, see document/page-pods.ts. */
  readonly pods: readonly string[]
  /** The text of the footer, which names the program that generated the page. */
  readonly generator: string
}

/**
 * Yields the parts of the page, which is one self-contained file. The script comes before the data
 * of the details, which can be large, so that the first screen does not wait for them.
 */
export function* renderPage(parts: PageParts): Generator<string> {
  const { script, data, pods } = parts
  yield beginDocument({ ...parts, more: podsElement(pods) })
  yield `${fillIn(bodyOf(data), textsOf(parts))}
<script type="application/json" id="overview">`
  yield* embed(overviewData(data))
  yield `</script>
<script>${script.text}</script>
<script type="application/json" id="data">`
  const { activity: _, ...details } = data
  yield* embed(details)
  yield `</script>
</body>
</html>
`
}

const BODY = `<header>
<h1>TITLE</h1>
<p id="about"></p>
<button id="theme" type="button">Dark or light</button>
</header>
<main>
<p id="verdict">VERDICT</p>
<p id="time">TIME</p>
<p id="hot">HOT</p>
<p id="advice"><b>What to do:</b> ADVICE</p>
<div id="first">
<section id="efficiency">
<h2>Efficiency</h2>
<table>
<caption>A factor is the product of the indented factors below it</caption>
<thead>
<tr><th scope="col">Factor</th><th scope="col">Value</th><th scope="col">Rest lost to</th></tr>
</thead>
<tbody></tbody>
</table>
<p class="missing"></p>
<details><summary>What these mean</summary><dl></dl></details>
</section>
<section id="worst">
<h2>Worst findings</h2>
<div class="lines"></div>
<p class="more note"></p>
</section>
</div>
<section id="activity">
<h2>Activity over time</h2>
<ul class="states"></ul>
<canvas id="activity-rows" role="img"></canvas>
<output class="note"></output>
<details><summary>The same as a table</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Activity of each pod or rank">
<table></table></div>
</details>
</section>
<noscript>This page needs JavaScript for its plots. The scripts are part of the page.</noscript>
<form id="filter" autocomplete="off" aria-label="Filter of the details">
<label>Pods
<input id="pods" type="text" placeholder="all, or 0-15, 32" spellcheck="false"></label>
<fieldset id="programs"><legend>Programs</legend></fieldset>
<label><input id="outliers" type="checkbox"> only outliers</label>
<button id="reset" type="reset">Show all</button>
<output id="shown"></output>
</form>
<details class="topic" id="findings">
<summary><h2>Findings</h2><span class="facts"></span></summary>
<p class="note"></p>
<div class="list"></div>
<ul class="unchecked"></ul>
</details>
<details class="topic" id="summary">
<summary><h2>By pod and program</h2><span class="facts"></span></summary>
<div class="scroll" tabindex="0" role="region" aria-label="Pods and programs">
<table><thead></thead><tbody></tbody></table></div>
<p class="note" id="summary-note"></p>
</details>
<details class="topic" id="strip">
<summary><h2>Pods side by side</h2><span class="facts"></span></summary>
<p><label>Measure <select id="measure"></select></label></p>
<div class="strip"><canvas></canvas></div>
<p class="scale"><span id="least"></span><canvas id="scale"></canvas><span id="most"></span></p>
<p class="note" id="strip-note"></p>
</details>
<details class="topic" id="plots">
<summary><h2>Processes over time</h2><span class="facts"></span></summary>
<p class="legend" id="legend"></p>
<div class="grid"></div>
<p class="note constant"></p>
</details>
<div id="topics"></div>
<details class="topic" id="devices">
<summary><h2>The node's devices</h2><span class="facts"></span></summary>
<p class="note">io-sysstat measures the block devices of the node, which all pods share.
These numbers are about the node, not the pod.</p>
<p class="legend"></p>
<div class="grid"></div>
<p class="note constant"></p>
</details>
<details class="topic" id="data-notes">
<summary><h2>Notes about the data</h2><span class="facts"></span></summary>
<ul id="notices"></ul>
</details>
</main>
<footer>GENERATOR</footer>`

/** Returns the body, without the paragraphs that have no text. */
function bodyOf({ time, advice, profiles }: PageData): string {
  const texts = { time, hot: profiles?.hot ?? null, advice }
  const missing = Object.entries(texts).flatMap(([id, text]) => (text === null ? id : []))
  return missing.reduce(
    (body, id) => body.replace(new RegExp(`^<p id="${id}">.*\n`, 'm'), ''),
    BODY,
  )
}

function textsOf({ title, data, generator }: PageParts) {
  const { verdict, time, advice, profiles } = data
  const hot = profiles?.hot?.sentence ?? ''
  const known = { VERDICT: verdict, TIME: time ?? '', HOT: hot, ADVICE: advice ?? '' }
  return { TITLE: title, ...known, GENERATOR: generator }
}

/** Replaces each of these words in a template by a text, at once: a text may contain a word. */
function fillIn(template: string, texts: Readonly<Record<string, string>>): string {
  const words = new RegExp(Object.keys(texts).join('|'), 'g')
  return template.replace(words, (word) => escapeHtml(texts[word] ?? ''))
}

/**
 * Yields the parts of JSON that is safe inside a script element. The JSON contains no `<`, and
 * therefore no tag and no comment. Unprintable characters are escaped.
 */
export function embed(data: unknown): Generator<string> {
  return jsonParts(data, { indent: '', quote: embedText })
}

function embedText(text: string): string {
  return JSON.stringify(printable(text)).replace(/</g, '\\u003c')
}
