import { createCipheriv, createSecretKey, randomFillSync } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GcmOpener, GcmSealer, nonceBytes, tagBytes } from '../../src/callbacks/gcm.ts'

const bytes = (minLength: number, maxLength: number) => fc.uint8Array({ minLength, maxLength }).map(Buffer.from)
const keys = bytes(32, 32).map(key => createSecretKey(key))

/** The nonce, what was sealed, and the tag. */
function seal(sealer: GcmSealer, text: Buffer): Buffer {
  const room = Buffer.alloc(nonceBytes + text.length + tagBytes)
  room.set(text, nonceBytes)
  sealer.seal(room, nonceBytes, nonceBytes + text.length)
  return room
}

test('what is sealed is what AES-256-GCM of node:crypto makes of it, whatever its length', () => {
  fc.assert(
    fc.property(keys, bytes(0, 60), fc.array(bytes(0, 300), { minLength: 1 }), (key, clear, texts) => {
      const sealer = new GcmSealer(key, clear, randomFillSync)
      for (const text of texts) {
        const sealed = seal(sealer, text)
        const cipher = createCipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes)).setAAD(clear)
        const expected = Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
        expect(sealed.subarray(nonceBytes)).toEqual(expected)
      }
    }),
  )
})

test('what AES-256-GCM of node:crypto has sealed opens, and stays closed when any one bit of it is changed', () => {
  fc.assert(
    fc.property(
      keys,
      bytes(0, 60),
      bytes(nonceBytes, nonceBytes),
      bytes(0, 128),
      fc.nat(),
      (key, clear, nonce, text, at) => {
        const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(clear)
        const sealed = Buffer.concat([nonce, cipher.update(text), cipher.final(), cipher.getAuthTag()])
        const end = nonceBytes + text.length
        const opener = new GcmOpener(key, clear)
        const forged = Buffer.from(sealed)
        const bit = at % (8 * forged.length)
        forged[bit >> 3]! ^= 1 << (bit & 7)
        const asForged = Buffer.from(forged)
        expect(opener.open(forged, nonceBytes, end)).toBe(false)
        expect(forged).toEqual(asForged)
        expect(new GcmOpener(key, Buffer.concat([clear, Buffer.alloc(1)])).open(sealed, nonceBytes, end)).toBe(false)
        expect(opener.open(sealed, nonceBytes, end)).toBe(true)
        expect(sealed.subarray(nonceBytes, end)).toEqual(text)
      },
    ),
  )
})

test('the 14th test case of the GCM specification is met', () => {
  const sealer = new GcmSealer(createSecretKey(Buffer.alloc(32)), Buffer.alloc(0), nonces => nonces.fill(0))
  const expected = 'cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919'
  expect(seal(sealer, Buffer.alloc(16)).toString('hex', nonceBytes)).toBe(expected)
})

test('no two texts have the same nonce, however many there are and whatever their length', () => {
  let next = 0
  const inTurn = (nonces: Buffer) => {
    for (let at = 0; at < nonces.length; at += nonceBytes) nonces.writeUInt32BE(next++, at)
  }
  const sealer = new GcmSealer(createSecretKey(Buffer.alloc(32)), Buffer.alloc(6), inTurn)
  const sealed = Array.from({ length: 2000 }, (_, i) => seal(sealer, Buffer.alloc(i % 200)))
  expect(new Set(sealed.map(bytes => bytes.toString('hex', 0, nonceBytes))).size).toBe(sealed.length)
})
