// The data of the page.

import { element } from '../../report/page/elements.ts'
import type { RunsPageData } from '../runs-page.ts'

export const DATA: RunsPageData = JSON.parse(element('data').textContent ?? '')
