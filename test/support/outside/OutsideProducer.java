import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Writes records with Kafka's own client. Arguments: brokers, topic, codecs (comma-separated; records use them in turn).
 * Each line of standard input is a record: key and value in base64, separated by a tab, "-" for null. Each record gets a
 * line on standard output: its number, counted from 0, a tab, and "ok" or the error. Ends when its input ends.
 */
public class OutsideProducer {
  private static final int PATIENCE_MS = 15 * 60 * 1000;

  public static void main(String[] args) throws Exception {
    PrintStream answers = System.out;
    System.setOut(System.err); // libraries may log to standard output
    List<KafkaProducer<byte[], byte[]>> producers = new ArrayList<>();
    for (String codec : args[2].split(",")) producers.add(producer(args[0], codec));

    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    long count = 0;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] fields = line.split("\t");
      long number = count++;
      var producer = producers.get((int) (number % producers.size()));
      producer.send(
          new ProducerRecord<>(args[1], bytes(fields[0]), bytes(fields[1])),
          (metadata, error) -> {
            synchronized (answers) {
              answers.print(number + "\t" + (error == null ? "ok" : error.toString().replace('\n', ' ')) + "\n");
              answers.flush();
            }
          });
    }
    for (var producer : producers) producer.close();
  }

  private static KafkaProducer<byte[], byte[]> producer(String brokers, String codec) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", brokers);
    settings.put("client.id", "outside-" + codec);
    settings.put("compression.type", codec);
    settings.put("acks", "all");
    settings.put("enable.idempotence", "true");
    settings.put("linger.ms", "20");
    settings.put("batch.size", "65536");
    settings.put("max.request.size", "67108864");
    // Wait for minutes while the cluster is down, rather than fail and produce duplicates.
    settings.put("delivery.timeout.ms", String.valueOf(PATIENCE_MS));
    settings.put("max.block.ms", String.valueOf(PATIENCE_MS));
    return new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer());
  }

  private static byte[] bytes(String field) {
    return field.equals("-") ? null : Base64.getDecoder().decode(field);
  }
}
