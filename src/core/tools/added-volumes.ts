import { asText } from '../kubernetes/json.ts'
import { IMAGE_VOLUME, TOOL_VOLUME } from './tool.ts'

/** The beginning of the name of the volume that covers the token of the service account. */
export const TOKEN_VOLUME = 'ridealong-no-token-'

/** Reports whether a volume has a name that only the volumes of Ridealong have. */
export function isAddedVolume(name: unknown): boolean {
  return asText(name)?.startsWith(TOKEN_VOLUME) === true || isToolVolume(name)
}

/** Reports whether a volume has a name that only the volumes of tools have. */
export function isToolVolume(name: unknown): boolean {
  const text = asText(name) ?? ''
  return text.startsWith(TOOL_VOLUME) || text.startsWith(IMAGE_VOLUME)
}
