// Threads that compute, exceptions, a child, and an exit code.
import java.io.IOException;
import java.util.stream.LongStream;

class Work {
  static long compute(int seed) {
    return LongStream.range(0, 100_000).reduce(seed, (sum, number) -> sum * 31 + number);
  }

  public static void main(String[] words) throws IOException, InterruptedException {
    Thread[] threads = new Thread[2];
    for (int at = 0; at < threads.length; at++) {
      int seed = at;
      threads[at] = new Thread(() -> {
        long end = System.nanoTime() + 700_000_000L;
        while (System.nanoTime() < end) compute(seed);
      });
      threads[at].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println(compute(7));
    try {
      throw new IllegalStateException("expected " + ((Object) null).hashCode());
    } catch (NullPointerException error) {
      System.err.println("no object");
    }
    Process child = new ProcessBuilder("sh", "-c", "echo child; exit 8").inheritIO().start();
    System.out.println(child.waitFor());
    Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
    System.exit(34);
  }
}
