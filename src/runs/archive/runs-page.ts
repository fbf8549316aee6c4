import { escapeHtml } from '../../core/text/html.ts'
import { type Asset, beginDocument } from '../html-document.ts'
import { embed } from '../report/page.ts'
import type { StoredRun } from './listed-run.ts'

/** The data of the page. */
export interface RunsPageData {
  readonly namespace: string
  /** The run that started last is the first one. */
  readonly runs: readonly StoredRun[]
  /** The number of older runs that the page does not list. */
  readonly omitted: number
  /** When the page was written, in seconds since 1970. */
  readonly written: number
}

export interface RunsPageParts {
  readonly style: Asset
  readonly script: Asset
  readonly data: RunsPageData
  /** The text of the footer, which names the program that generated the page. */
  readonly generator: string
}

/**
 * Yields the parts of the page with the runs of a namespace, which is one self-contained file: it
 * also works from a folder, without a server.
 */
export function* renderRunsPage({
  style,
  script,
  data,
  generator,
}: RunsPageParts): Generator<string> {
  const title = `Runs in namespace ${data.namespace}`
  yield `${beginDocument({ title, style, script })}<header>
<h1>${escapeHtml(title)}</h1>
<p id="about"></p>
<button id="theme" type="button">Dark or light</button>
</header>
${MAIN}
<footer>${escapeHtml(generator)}</footer>
<script type="application/json" id="data">`
  yield* embed(data)
  yield `</script>
<script>${script.text}</script>
</body>
</html>
`
}

const MAIN = `<main>
<noscript>This page needs JavaScript for its table. The script is part of the page.</noscript>
<form id="choice" autocomplete="off" role="search" aria-label="Filter of the runs">
<label>Search
<input id="search" type="text" placeholder="name, phase, image or finding"
spellcheck="false"></label>
<label>Workload <select id="workload"></select></label>
<button id="reset" type="reset">Show all</button>
<output id="shown"></output>
</form>
<section id="comparison" aria-labelledby="comparison-title" hidden>
<h2 id="comparison-title">Two runs side by side</h2>
<table><thead></thead><tbody></tbody></table>
<p class="note"></p>
</section>
<details class="topic" id="trend">
<summary><h2>Trend</h2><span class="facts">time, processors and memory of the runs below,
by their start</span></summary>
<p class="legend"></p>
<div class="grid"></div>
</details>
<section id="runs" aria-labelledby="runs-title">
<h2 id="runs-title">Runs</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Table of runs">
<table><thead></thead><tbody></tbody></table></div>
<nav aria-label="Pages of the table">
<button id="before" type="button">Previous</button>
<output id="place"></output>
<button id="after" type="button">Next</button>
</nav>
</section>
</main>`
