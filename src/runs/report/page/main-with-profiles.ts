// The page of a run with profiles, which also has a flame graph.

import './main.ts'
import './profiles.css'
import { addProfiles } from './profiles.ts'

addProfiles()
