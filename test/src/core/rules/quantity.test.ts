import t from 'tap'
import type { RowColumn } from '../../../../src/core/catalog.ts'
import { conversionOf, quantityOf, thingOf } from '../../../../src/core/rules/quantity.ts'

const COLUMN: RowColumn = {
  name: 'cpu_seconds',
  type: 'number',
  unit: 's',
  behavior: 'counter',
  meaning: 'CPU seconds',
}

t.test('the name of a column says nothing about its quantity', async (t) => {
  t.equal(quantityOf(COLUMN), undefined)
  t.equal(quantityOf({ ...COLUMN, otlp: { unit: 's' } }), undefined)
})

t.test('the name in OpenTelemetry is the quantity, with its attributes', async (t) => {
  t.equal(quantityOf({ ...COLUMN, otlp: { name: 'process.cpu.time' } }), 'process.cpu.time')
  const attributes = { 'disk.io.direction': 'read', a: 'b' }
  const quantity = quantityOf({ ...COLUMN, otlp: { name: 'process.disk.io', attributes } })
  t.equal(quantity, 'process.disk.io{a=b,disk.io.direction=read}')
})

t.test('a column may name its quantity without the name in OpenTelemetry', async (t) => {
  const otlp = { name: 'process.cpu.utilization' }
  t.equal(quantityOf({ ...COLUMN, otlp, quantity: 'process.cpu.time' }), 'process.cpu.time')
})

t.test('keys measure nothing', async (t) => {
  const { unit: _, behavior: __, ...key } = COLUMN
  t.equal(quantityOf({ ...key, key: true, otlp: { name: 'process.pid' } }), undefined)
})

t.test('rows with more keys than the process describe something else', async (t) => {
  const key = (name: string, otlp = {}) => {
    return { name, type: 'text', key: true, otlp, meaning: 'a key' } as const
  }
  const section = (...columns: RowColumn[]) => {
    return { name: 'rows', of: 'process', description: 'rows', columns } as const
  }
  const processes = section(key('container'), key('program'), key('pid'), COLUMN)
  const summary = section(key('program'), COLUMN)
  t.equal(thingOf(processes), thingOf(summary))
  t.not(thingOf(section(key('program'), key('call'))), thingOf(summary))
  t.equal(thingOf(section(key('program'), key('peer', { summed: true }))), thingOf(summary))
  t.not(thingOf({ ...summary, of: 'container' }), thingOf(summary))
})

t.test('units are converted to seconds, bytes and counts', async (t) => {
  t.strictSame(conversionOf({ unit: 'percent' }), { unit: 's', factor: 0.01, isRate: true })
  t.strictSame(conversionOf({ unit: 'KiB' }), { unit: 'bytes', factor: 1024, isRate: false })
  t.equal(conversionOf({ unit: 'W' }), undefined)
  t.equal(conversionOf({}), undefined)
})
