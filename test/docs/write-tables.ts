import { readFileSync, writeFileSync } from 'node:fs'
import { REASON_TABLES, withReasonTables } from './reason-tables.ts'

// `npm run docs:tables` writes the tables of documents that are made from src/core/reasons.ts.

for (const page of Object.keys(REASON_TABLES))
  writeFileSync(page, withReasonTables(page, readFileSync(page, 'utf8')))
