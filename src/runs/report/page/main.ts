// The page of a run.

import { startPage } from './start.ts'

startPage(async () => (await import('./details.ts')).startDetails())
