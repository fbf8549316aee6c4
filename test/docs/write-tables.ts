import { readFileSync, writeFileSync } from 'node:fs'
import { PAGE_TABLES, withPageTables } from './page-tables.ts'

// `npm run docs:tables` writes the tables of documents that are made from src/core/reasons.ts and
// from the catalog.

for (const page of Object.keys(PAGE_TABLES))
  writeFileSync(page, withPageTables(page, readFileSync(page, 'utf8')))
