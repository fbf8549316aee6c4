import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import type { Session } from '../shared/session.ts'

/** The programs that open a file with the user's browser. On other systems it is xdg-open. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['explorer.exe'],
}

/**
 * Opens a page in the user's browser, and does not wait until it is closed. We do not use the
 * package `open`: it depends on ten other packages, which serve systems without this command.
 */
export async function openPage(
  file: string,
  { environment, say }: Pick<Session, 'environment' | 'say'>,
): Promise<void> {
  const [program = '', ...words] = OPENERS[process.platform] ?? ['xdg-open']
  const child = spawn(program, [...words, resolve(file)], {
    env: environment,
    detached: true,
    stdio: 'ignore',
  })
  child.unref()
  try {
    await once(child, 'spawn')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    say(`cannot open ${file} in a browser: the program ${program} does not start (${code})`)
  }
}
