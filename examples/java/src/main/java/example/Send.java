package example;

import io.busgate.SendCommand;
import io.busgate.SendResult;
import io.busgate.SendResultOutcome;
import io.busgate.Sms;
import io.busgate.StatusEvent;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.avro.specific.SpecificRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends one SMS through busgate, prints its results, and whether it was delivered. Arguments: ID PHONE TEXT. */
public final class Send {
  private static final String BROKERS = env("KAFKA_BROKERS", "localhost:9092");
  private static final String COMMANDS = env("COMMANDS_TOPIC", "busgate.commands");
  private static final String RESULTS = env("RESULTS_TOPIC", "busgate.results");
  private static final String STATUSES = env("STATUSES_TOPIC", "busgate.statuses");
  /** If set, the text is sealed: only busgate's workers read it. */
  private static final String PUBLIC_KEYS = System.getenv("PUBLIC_KEYS");
  private static final Duration NO_LIMIT = Duration.ofNanos(Long.MAX_VALUE);
  private static final Duration VERDICT_LIMIT = Duration.ofSeconds(Long.parseLong(env("VERDICT_SECONDS", "60")));
  private static final Duration DELAY = Duration.ofSeconds(Long.parseLong(env("DELAY_SECONDS", "0")));
  private static final Set<String> WITHOUT_STATUSES = Set.of("call/otp", "hlr");
  private static final Registry REGISTRY = new Registry(env("REGISTRY_URL", "http://localhost:8081"));
  private static final WireFormat FORMAT = new WireFormat(REGISTRY);

  public static void main(String[] args) throws Exception {
    long id = Long.parseLong(args[0]);
    // parseLong drops the zero: 0671234567 would become the phone of somebody else.
    if (!args[1].matches("[1-9][0-9]{0,14}")) {
      System.err.println("Nothing was sent: PHONE must be digits only, in international format such as 380671234567.");
      System.exit(1);
    }
    // A class for each record of the union: which one it is needs no further word.
    Sms sms = Sms.newBuilder().setSmsMessage(args[2]).setSmsSignature("Shop").build();
    SendCommand command =
        SendCommand.newBuilder()
            .setId(id)
            .setPhone(Long.parseLong(args[1]))
            .setMessage(sms)
            .setCorrelationId("example-java")
            .setNotBefore(DELAY.isZero() ? null : Instant.now().plus(DELAY))
            .build();
    if (PUBLIC_KEYS != null) command.setMessage(Seal.sms(command, sms, PUBLIC_KEYS));
    send(command);
    SendResult result = finalResult(id);
    if (result.getOutcome() != SendResultOutcome.SENT || WITHOUT_STATUSES.contains(result.getType())) return;
    StatusEvent event = verdictOn(result);
    // If you keep reading: a later DELIVERED replaces FAILED, and either replaces UNKNOWN (given up).
    System.out.println(id + " " + (event == null ? "no verdict yet" : event.getState()));
  }

  /**
   * Returns when every in-sync replica holds the command. Where it throws, the command was perhaps written, and the same id
   * with the same text may be sent again.
   */
  private static void send(SendCommand command) throws Exception {
    byte[] value = FORMAT.encode(COMMANDS, command);
    // acks=all and idempotence are the defaults since Kafka 3.0, named because they must not change.
    Map<String, Object> settings =
        Map.of("bootstrap.servers", BROKERS, "acks", "all", "enable.idempotence", true);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new ByteArraySerializer())) {
      producer.send(new ProducerRecord<>(COMMANDS, String.valueOf(command.getId()), value)).get();
    }
  }

  /** Prints the results of a command, up to the final one, and returns that. */
  private static SendResult finalResult(long id) throws Exception {
    return find(
        RESULTS,
        SendResult.class,
        id,
        NO_LIMIT,
        result -> {
          String about = result.getErrorCode() != null ? result.getErrorCode() : result.getMsgId();
          System.out.println(result.getId() + " " + result.getOutcome() + " " + about);
          return result.getFinal$(); // DUPLICATE: the result of the first command with this id is elsewhere in the topic
        });
  }

  /** The first status event with a verdict on a message (docs/statuses.md); null if none comes in time. */
  private static StatusEvent verdictOn(SendResult result) throws Exception {
    return find(
        STATUSES,
        StatusEvent.class,
        result.getId(),
        VERDICT_LIMIT,
        event -> {
          // Unverified events count only for a message without its own hook: anyone who knows the account's address can
          // make them up.
          boolean isBelieved = event.getVerified() || Boolean.FALSE.equals(result.getHooked());
          return event.getAccount().equals(result.getAccount()) && isBelieved && event.getFinal$();
        });
  }

  /** The first record about a message that is wanted; null if there is none within the limit. */
  private static <T extends SpecificRecord> T find(
      String topic, Class<T> type, long id, Duration limit, Predicate<T> isWanted) throws Exception {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", BROKERS,
            "group.id", "example-java-" + topic, // all members of a group should read the same topics
            "auto.offset.reset", "earliest",
            // The default, read_uncommitted, would show records of aborted transactions.
            "isolation.level", "read_committed",
            "enable.auto.commit", false);
    String key = String.valueOf(id); // of its command, its results and its statuses
    long begun = System.nanoTime();
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(topic));
      T found = null;
      while (found == null && System.nanoTime() - begun < limit.toNanos()) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          if (found != null || !key.equals(record.key())) continue;
          T value = FORMAT.decode(record.value(), type);
          if (isWanted.test(value)) found = value;
        }
        consumer.commitSync(); // all of the batch was worked on
      }
      return found;
    }
  }

  private static String env(String name, String otherwise) {
    return System.getenv().getOrDefault(name, otherwise);
  }
}
