// The page of a run with profiles, which also has a flame graph.

import './profiles/profiles.css'
import { startPage } from './start.ts'

startPage(async () => {
  const { startDetails } = await import('./details.ts')
  const { addProfiles } = await import('./profiles/profiles.ts')
  return startDetails([addProfiles])
})
