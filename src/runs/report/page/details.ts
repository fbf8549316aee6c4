// The details of the page, which follow the first screen: the filter and the topics.

import { DATA } from './data.ts'
import { element, inside, made } from './elements.ts'
import { isPodShown, isShown, startFilter } from './filter.ts'
import { buildFindings } from './findings.ts'
import { counted } from './format.ts'
import { showBoard, startBoard } from './plots.ts'
import { startProcesses } from './processes.ts'
import { addSectionTopics } from './sections.ts'
import type { Details } from './start.ts'
import { addMpi } from './tools/mpi.ts'
import { addParts } from './tools/parts.ts'
import { followLinks, printTopics, showTopics, startTopic, topicPlace } from './topics.ts'

/** Starts the filter and the topics. @param more adds further topics, after that about MPI */
export function startDetails(more: readonly (() => void)[] = []): Details {
  startFilter(showAll)
  showCount()
  startFindingsTopic()
  startProcesses()
  if (DATA.mpi !== undefined) addMpi()
  addParts()
  for (const add of more) add()
  addSectionTopics()
  startDevices()
  startNotices()
  followLinks()
  return { show: showTopics, print: printTopics }
}

function startFindingsTopic() {
  const { findings, notes } = DATA.findings
  const parts = [
    counted(findings.length, 'finding'),
    ...(notes.length === 0 ? [] : [`${counted(notes.length, 'note')} on rules without a finding`]),
  ]
  inside('findings', '.facts').textContent = parts.join(', ')
  startTopic(topicPlace('findings'), buildFindings)
}

function startDevices() {
  const { devices, idleDevices } = DATA
  element('devices').hidden = devices.lines.length === 0
  if (devices.lines.length === 0) return
  inside('devices', '.facts').textContent = counted(devices.lines.length, 'device')
  startTopic(topicPlace('devices'), () => {
    if (idleDevices > 0)
      inside('devices', '.note').append(
        ` Not shown: ${counted(idleDevices, 'device')} without any activity.`,
      )
    const board = startBoard(devices, 'devices', isPodShown, inside('devices', '.constant'))
    return () => showBoard(board)
  })
}

function startNotices() {
  const { notices } = DATA
  element('data-notes').hidden = notices.length === 0
  inside('data-notes', '.facts').textContent = counted(notices.length, 'note')
  startTopic(topicPlace('data-notes'), () => () => {
    element('notices').replaceChildren(...notices.map((notice) => made('li', notice)))
  })
}

/** Applies the filter. */
function showAll() {
  showCount()
  showTopics()
}

function showCount() {
  const ofPods = DATA.sections.flatMap(({ plots }) => plots.lines)
  const lines = DATA.plots.lines.filter(isShown).length + ofPods.filter(isPodShown).length
  const all = DATA.plots.lines.length + ofPods.length
  element('shown').textContent = `${lines.toLocaleString('en')} of ${counted(all, 'line')}`
}
