import { readFile } from 'node:fs/promises'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
export type Shell = (typeof SHELLS)[number]

/** Runs `ridealong completion SHELL`: returns the script that the shell sources. */
export function readScript(shell: Shell): Promise<string> {
  return readFile(new URL(`./ridealong.${shell}`, import.meta.url), 'utf8')
}
