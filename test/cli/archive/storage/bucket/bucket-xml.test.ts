import t from 'tap'
import {
  parseXml,
  readElement,
  readObjectPage,
} from '../../../../../cli/archive/storage/bucket/bucket-xml.ts'

/** The form of the sample response of ListObjectsV2 in the Amazon S3 API Reference. */
const LIST = `<?xml version="1.0" encoding="UTF-8"?>
<!-- a comment of a proxy: <Key>no</Key> -->
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>rows</Name>
  <IsTruncated>true</IsTruncated>
  <NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
  <Contents xsi:type="x" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
    <Key>a &amp;lt; b&#x9;&#233;</Key>
    <LastModified>2026-01-02T03:04:05.000Z</LastModified>
    <Owner><DisplayName>&lt;Key&gt;no&lt;/Key&gt;</DisplayName></Owner>
  </Contents>
  <Contents><Key><![CDATA[c<d>&amp;]]></Key></Contents>
  <CommonPrefixes><Prefix>namespace=hpc/</Prefix></CommonPrefixes>
</ListBucketResult>
`

t.test('a list has the keys, whatever form of XML the service writes', async (t) => {
  t.strictSame(readObjectPage(LIST), {
    objects: [
      { key: 'a &lt; b\té', modified: Date.UTC(2026, 0, 2, 3, 4, 5) },
      { key: 'c<d>&amp;', modified: Number.NaN },
    ],
    folders: ['namespace=hpc/'],
    next: '1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=',
  })
})

t.test('a list that is cut anywhere is an error, and never a shorter list', async (t) => {
  const message = 'the response of the bucket is not a list of objects'
  for (let length = 0; length < LIST.trimEnd().length; length += 1)
    t.throws(() => readObjectPage(LIST.slice(0, length)), { message })
})

t.test('another response is no list of objects', async (t) => {
  for (const text of [
    '<html><body>Sign in<br></body></html>',
    '<Error><Code>NoSuchBucket</Code></Error>',
    '<!DOCTYPE l [<!ENTITY k "x">]><ListBucketResult><Key>&k;</Key></ListBucketResult>',
    '{}',
  ])
    t.throws(() => readObjectPage(text), { message: /is not a list of objects$/ })
  t.throws(
    () => readObjectPage('<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>'),
    { message: 'the list of objects is cut and does not say where' },
  )
})

t.test('an element is found at any depth, and none in a text that is no XML', async (t) => {
  t.equal(readElement(parseXml('<a><b><Code>x</Code></b></a>'), 'Code'), 'x')
  t.equal(readElement(parseXml('<a/>'), 'Code'), undefined)
  t.equal(readElement(parseXml('<a><Code>x</Code>'), 'Code'), undefined)
})
