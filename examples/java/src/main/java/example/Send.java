package example;

import io.busgate.SendCommand;
import io.busgate.SendResult;
import io.busgate.Sms;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Sends one SMS through busgate and prints its results. Arguments: ID PHONE TEXT. */
public final class Send {
  private static final String BROKERS = env("KAFKA_BROKERS", "localhost:9092");
  private static final String COMMANDS = env("COMMANDS_TOPIC", "busgate.commands");
  private static final String RESULTS = env("RESULTS_TOPIC", "busgate.results");
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
    send(
        SendCommand.newBuilder()
            .setId(id)
            .setPhone(Long.parseLong(args[1]))
            .setMessage(sms)
            .setCorrelationId("example-java")
            .build());
    printResults(id);
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

  /** Prints the results of one command, up to the final one. */
  private static void printResults(long id) throws Exception {
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", BROKERS,
            "group.id", "example-java",
            "auto.offset.reset", "earliest",
            // The default, read_uncommitted, would show results of aborted transactions.
            "isolation.level", "read_committed",
            "enable.auto.commit", false);
    try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new ByteArrayDeserializer())) {
      consumer.subscribe(List.of(RESULTS));
      for (boolean finished = false; !finished; ) {
        for (var record : consumer.poll(Duration.ofSeconds(1))) {
          SendResult result = FORMAT.decode(record.value());
          if (result.getId() != id) continue;
          String about = Objects.requireNonNullElse(result.getErrorCode(), result.getMsgId());
          System.out.println(result.getId() + " " + result.getOutcome() + " " + about);
          // DUPLICATE: the result of the first command with this id is elsewhere in the topic
          finished |= result.getFinal$();
        }
        consumer.commitSync(); // all of the batch was worked on
      }
    }
  }

  private static String env(String name, String otherwise) {
    return System.getenv().getOrDefault(name, otherwise);
  }
}
