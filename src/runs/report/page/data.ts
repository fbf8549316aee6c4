// The data of the page. The first screen must not import this module: the browser reads the data
// last, and they can be large.

import type { PageData } from '../data.ts'
import { element } from './elements.ts'

export const DATA: Omit<PageData, 'activity'> = JSON.parse(element('data').textContent ?? '')
