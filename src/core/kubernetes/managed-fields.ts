import { type Fields, fieldsOrNone, listOrNone } from './json.ts'

/**
 * The entries of an object's managedFields whose managers own an annotation
 * (structured-merge-diff: `f:` and the field's name). There are none where somebody has emptied them.
 */
export function findOwners(object: Fields, annotation: string): readonly Fields[] {
  const managers = listOrNone(fieldsOrNone(object.metadata).managedFields).map(fieldsOrNone)
  return managers.filter(({ fieldsV1 }) => {
    const metadata = fieldsOrNone(fieldsOrNone(fieldsV1)['f:metadata'])
    return Object.hasOwn(fieldsOrNone(metadata['f:annotations']), `f:${annotation}`)
  })
}

/**
 * The owners of an annotation, as an object's managedFields have them, with nothing else in them: so that
 * an object of which little is kept still tells them.
 */
export function ownership(object: Fields, annotation: string): readonly Fields[] {
  const fieldsV1 = { 'f:metadata': { 'f:annotations': { [`f:${annotation}`]: {} } } }
  return findOwners(object, annotation).map(({ time }) => ({ time, fieldsV1 }))
}
