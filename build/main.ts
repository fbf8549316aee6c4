/** Builds the command for the package and the image: `npm run build` writes dist. */
import { fileURLToPath } from 'node:url'
import { buildCommand } from './command.ts'

await buildCommand(fileURLToPath(new URL('../dist', import.meta.url)))
