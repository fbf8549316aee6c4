import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { systemMessage } from '../../../../src/lib/error-message.ts'

export interface Credentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Empty for credentials that do not expire. */
  readonly sessionToken: string
}

/**
 * Reads credentials from a folder with a file for each of them, as a mounted Secret has them. Call
 * this function for each request, because the kubelet writes the files again if the Secret changes.
 *
 * @throws an error if one is missing or not valid. No message contains a value
 */
export async function readCredentials(folder: string): Promise<Credentials> {
  return verifyCredentials({
    accessKeyId: await read(folder, 'AWS_ACCESS_KEY_ID'),
    secretAccessKey: await read(folder, 'AWS_SECRET_ACCESS_KEY'),
    sessionToken: await read(folder, 'AWS_SESSION_TOKEN', ''),
  })
}

/**
 * Returns credentials that can be sent in the headers of a request. Node.js quotes the value of a
 * header that is not valid in its message, which ends in the log.
 *
 * @throws an error with the name of the one that is not valid
 */
export function verifyCredentials(credentials: Credentials): Credentials {
  const { accessKeyId, sessionToken } = credentials
  for (const [name, value] of [
    ['AWS_ACCESS_KEY_ID', accessKeyId],
    ['AWS_SESSION_TOKEN', sessionToken],
  ])
    if (!/^[\x21-\x7e]*$/.test(value ?? ''))
      throw new Error(`${name} must have no spaces, line breaks and characters beyond ASCII`)
  return credentials
}

/** A file that a user has written can end in a line feed. */
async function read(folder: string, name: string, absent?: string): Promise<string> {
  const text = await readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' && absent !== undefined) return absent
    throw new Error(`the credentials have no ${name}: ${systemMessage(error)}`)
  })
  if (text.trim() === '' && absent === undefined)
    throw new Error(`the credentials have an empty ${name}`)
  return text.trim()
}
