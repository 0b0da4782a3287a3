import { describe, expect, test } from 'vitest'
import { buildLog, buildOwner, result } from '../support/sessions.ts'

describe('a session that found no window at its committed offset', () => {
  test('must look up results of all existing records, and so must the next owner until they are settled', async () => {
    const log = buildLog(10)
    log.committed = { offset: 2, metadata: '' }
    const first = await buildOwner(log).open()
    expect(first.session.uncheckedUntil).toBe(10)
    first.deliver()
    log.append(5)
    first.deliver()
    for (const offset of [2, 3, 4, 6]) first.session.settle(offset, result(offset))
    await first.commit()

    const second = await buildOwner(log, { tag: 'another process' }).open()
    expect(second.session.uncheckedUntil).toBe(10)
    second.deliver()
    for (const offset of [5, 7, 8, 9]) second.session.settle(offset, result(offset))
    await second.commit()
    expect(second.session.uncheckedUntil).toBe(0)
    expect((await buildOwner(log, { tag: 'a third process' }).open()).session.uncheckedUntil).toBe(0)
  })

  test('must look up only records that may have been answered before, and so must the next owner', async () => {
    const log = buildLog(10)
    log.committed = { offset: 2, metadata: '' }
    const first = await buildOwner(log).open()
    first.deliver()
    first.session.answeredBefore(5)
    expect(first.session.uncheckedUntil).toBe(5)
    first.session.settle(2, result(2))
    await first.commit()
    const second = await buildOwner(log, { tag: 'another process' }).open()
    expect(second.session.uncheckedUntil).toBe(5)
    second.session.answeredBefore(3)
    expect(second.session.uncheckedUntil).toBe(0)
  })

  test('needs no look-up if that offset was the end of the log; nor does the next owner, which finds a window', async () => {
    const log = buildLog(10)
    log.committed = { offset: 10, metadata: null }
    const first = await buildOwner(log).open()
    expect(first.session.uncheckedUntil).toBe(0)
    log.append(5)
    first.deliver()
    first.session.settle(11, result(11))
    await first.commit()
    expect((await buildOwner(log, { tag: 'another process' }).open()).session.uncheckedUntil).toBe(0)
  })

  test('must look up all existing records also if the broker has lost a later commit', async () => {
    const log = buildLog(10)
    const first = await buildOwner(log).open()
    first.deliver()
    first.session.answeredBefore(0)
    for (const offset of [0, 1]) first.session.settle(offset, result(offset))
    await first.commit()
    log.lacksCommit = true
    expect((await buildOwner(log, { tag: 'another process' }).open()).session.uncheckedUntil).toBe(10)
  })

  test('must look up all existing records if the group is new', async () => {
    expect((await buildOwner(buildLog(3)).open()).session.uncheckedUntil).toBe(3)
  })
})
