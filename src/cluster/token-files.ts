import { resolve } from 'node:path'
import { parse } from 'yaml'
import { asObjects, asText, fieldsOrNone } from '../core/kubernetes/json.ts'

/**
 * Returns the files with tokens that a kubeconfig names, by user.
 *
 * @param text the text of the kubeconfig
 * @param folder the folder of the kubeconfig, to which relative paths refer
 */
export function findTokenFiles(text: string, folder: string): ReadonlyMap<string, string> {
  const users = asObjects(fieldsOrNone(parse(text)).users)
  return new Map(
    users.flatMap(({ name, user }) => {
      const file = asText(fieldsOrNone(user).tokenFile)
      return file ? [[String(name), resolve(folder, file)] as const] : []
    }),
  )
}
