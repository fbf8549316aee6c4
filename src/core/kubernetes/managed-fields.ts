import { type Fields, fieldsOrNone, listOrNone } from './json.ts'

/**
 * Returns the managedFields entries that own an annotation. In an entry, the name of each field has
 * the prefix `f:` (structured-merge-diff). The result is empty if managedFields were cleared.
 */
export function findOwners(object: Fields, annotation: string): readonly Fields[] {
  const managers = listOrNone(fieldsOrNone(object.metadata).managedFields).map(fieldsOrNone)
  return managers.filter(({ fieldsV1 }) => {
    const metadata = fieldsOrNone(fieldsOrNone(fieldsV1)['f:metadata'])
    return Object.hasOwn(fieldsOrNone(metadata['f:annotations']), `f:${annotation}`)
  })
}

/**
 * Returns the managedFields entries that own an annotation, reduced to the time and that
 * annotation. A cache can store these entries instead of the complete managedFields.
 */
export function ownership(object: Fields, annotation: string): readonly Fields[] {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } }
  return findOwners(object, annotation).map(({ time }) => ({ time, fieldsV1 }))
}
