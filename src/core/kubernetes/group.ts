/** Returns the group of a group and version: `batch` of `batch/v1`, and no text of `v1`. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : ''
}
