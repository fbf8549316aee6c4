// The topics of the page: each is closed at first, and is built when it is opened for the first
// time, because a browser needs long for hundreds of plots that nobody looks at.

import { classed, element, made } from './elements.ts'

interface Topic {
  readonly place: HTMLDetailsElement
  /** Builds the content; returns a function that draws it, again if the filter changed. */
  readonly build: () => () => void
  show: (() => void) | undefined
  /** Whether the content must be drawn again when the topic is opened. */
  isStale: boolean
  /** Whether it is open only to be printed. */
  isPrinted: boolean
}

const topics: Topic[] = []

/** Returns the element of a topic of the page. */
export function topicPlace(id: string): HTMLDetailsElement {
  const place = element(id)
  if (!(place instanceof HTMLDetailsElement)) throw new Error(`the element ${id} is not a topic`)
  return place
}

/** Adds an empty topic to the page. @param facts a few words about its content */
export function addTopic(id: string, title: string, facts: string): HTMLDetailsElement {
  const place = classed('details', 'topic')
  place.id = id
  const summary = made('summary')
  summary.append(made('h2', title), classed('span', 'facts', facts))
  place.append(summary)
  element('topics').append(place)
  return place
}

/** Builds and draws a topic when it is opened; at once if it is open. */
export function startTopic(place: HTMLDetailsElement, build: Topic['build']) {
  const topic: Topic = { place, build, show: undefined, isStale: true, isPrinted: false }
  topics.push(topic)
  place.addEventListener('toggle', () => {
    if (place.open) showTopic(topic)
  })
  if (place.open) showTopic(topic)
}

function showTopic(topic: Topic) {
  if (!topic.isStale) return
  topic.isStale = false
  topic.show ??= topic.build()
  topic.show()
}

/** Draws the open topics again; the others when they are opened. */
export function showTopics() {
  for (const topic of topics) {
    topic.isStale = true
    if (topic.place.open) showTopic(topic)
  }
}

/** Opens all topics to print them, or closes those that were opened for this. */
export function printTopics(isPrinting: boolean) {
  for (const topic of topics) {
    if (isPrinting && !topic.place.open) topic.isPrinted = true
    if (topic.isPrinted) topic.place.open = isPrinting
    if (!isPrinting) topic.isPrinted = false
  }
  showTopics()
}

/** Opens the topic of the element that the address of the page names, and scrolls to it. */
export function followLinks() {
  const follow = () => {
    const id = location.hash.slice(1)
    const isFinding = id.startsWith('finding-')
    const owner = topics.find(({ place }) => place.id === (isFinding ? 'findings' : id))
    if (owner === undefined) return
    owner.place.open = true
    showTopic(owner)
    document.getElementById(id)?.scrollIntoView()
  }
  addEventListener('hashchange', follow)
  follow()
}
