import { openBus } from '../../bus/open.ts'
import { readHeldBack } from '../../fleet/held-back.ts'
import { sentence } from '../../words.ts'
import { check, ok, skipped, warning } from './check.ts'

export const holds = check({
  name: 'workers',
  about:
    'What the processes that run now hold back and since when, in the words of busgate status: accounts, partitions, processes that do not work.',
  needs: ['settings', 'cluster', 'topics'],
  async look({ settings, topics }) {
    const { workers, commands } = settings.topics
    const unseen = [workers, ...commands].filter(topic => topics.get(topic)?.state !== 'exists')
    if (unseen.length > 0) return { findings: [skipped(`${unseen.join(', ')} cannot be seen`)] }
    await using bus = await openBus(settings)
    const { fleet, holds } = await readHeldBack(bus, settings)
    const { length } = fleet.alive
    if (length === 0) return { findings: [skipped('no process has reported in the last minute')] }
    if (holds.length === 0)
      return {
        findings: [ok(`${length} ${length === 1 ? 'process reports' : 'processes report'}: nothing is held back`)],
      }
    return { findings: holds.map(({ text, mend }) => warning(sentence(text), mend || 'see busgate status')) }
  },
})
