// The data of the page.

import type { PageData } from '../data.ts'
import { element } from './elements.ts'

export const DATA: PageData = JSON.parse(element('data').textContent ?? '')
