import { printable } from '../../core/text/printable.ts'
import type { PageData } from './data.ts'
import { jsonParts } from './json-parts.ts'

/** A script or a style sheet of the page, and the SHA-256 of its text in base64. */
export interface Asset {
  readonly text: string
  readonly sha256: string
}

export interface PageParts {
  readonly title: string
  readonly style: Asset
  readonly script: Asset
  readonly data: PageData
  /** The text of the footer, which names the program that generated the page. */
  readonly generator: string
}

/**
 * Yields the parts of the page, which is one self-contained file. The Content-Security-Policy of
 * the page allows only its own script and style sheet and embedded images, and no requests to a
 * server.
 */
export function* renderPage(parts: PageParts): Generator<string> {
  const { title, style, script, data, generator } = parts
  const policy = [
    "default-src 'none'",
    `script-src 'sha256-${script.sha256}'`,
    `style-src 'sha256-${style.sha256}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>${escapeText(title)}</title>
<style>${style.text}</style>
</head>
<body>
${fillIn(BODY, { TITLE: title, VERDICT: data.verdict, GENERATOR: generator })}
<script type="application/json" id="data">`
  yield* embed(data)
  yield `</script>
<script>${script.text}</script>
</body>
</html>
`
}

const BODY = `<header>
<h1>TITLE</h1>
<p id="about"></p>
<p id="verdict">VERDICT</p>
<div id="efficiency"><table>
<caption>Efficiency: each factor is the product of those below it</caption>
<thead><tr><th scope="col">Factor</th><th scope="col">Value</th><th scope="col">Meaning</th></tr>
</thead>
<tbody></tbody>
</table></div>
<div id="worst"></div>
<ul id="notices"></ul>
</header>
<form id="filter" autocomplete="off">
<label>Ranks
<input id="ranks" type="text" placeholder="all, or 0-15, 32" spellcheck="false"></label>
<fieldset id="programs"><legend>Programs</legend></fieldset>
<label><input id="outliers" type="checkbox"> only outliers</label>
<button id="reset" type="reset">Show all</button>
<output id="shown"></output>
<button id="theme" type="button">Dark or light</button>
</form>
<noscript>This page needs JavaScript for its plots. The scripts are part of the page.</noscript>
<main>
<section id="findings">
<h2>Findings</h2>
<p class="note"></p>
<div class="list"></div>
<ul class="unchecked"></ul>
</section>
<section id="summary">
<h2>By rank and program</h2>
<div class="scroll"><table><thead></thead><tbody></tbody></table></div>
<p class="note" id="summary-note"></p>
</section>
<section id="strip">
<h2>Ranks side by side <select id="measure" aria-label="measure"></select></h2>
<div class="strip"><canvas></canvas></div>
<p class="scale"><span id="least"></span><canvas id="scale"></canvas><span id="most"></span></p>
<p class="note" id="strip-note"></p>
</section>
<section id="plots">
<h2>Over time</h2>
<p class="legend" id="legend"></p>
<div class="grid"></div>
</section>
<section id="devices">
<h2>The node's devices</h2>
<p class="note">io-sysstat measures the block devices of the node, which all pods share.
These numbers are about the node, not the pod.</p>
<p class="legend"></p>
<div class="grid"></div>
</section>
<div id="sections"></div>
</main>
<footer>GENERATOR</footer>`

/** Replaces each of these words in a template by a text, at once: a text may contain a word. */
function fillIn(template: string, texts: Readonly<Record<string, string>>): string {
  const words = new RegExp(Object.keys(texts).join('|'), 'g')
  return template.replace(words, (word) => escapeText(texts[word] ?? ''))
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

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escapeText(text: string): string {
  return printable(text).replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
}
